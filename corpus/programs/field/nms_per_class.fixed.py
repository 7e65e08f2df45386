# expect: none
# source: https://github.com/MrParosk/soft_nms/pull/14
# fix: keep-tensor ; auto: manual (boxes of different classes are moved apart)
# fixes: nms_per_class.py
import torch


def decay(boxes, scores):
    lt = torch.max(boxes[:, None, 0], boxes[None, :, 0])
    rb = torch.min(boxes[:, None, 1], boxes[None, :, 1])
    size = boxes[:, 1] - boxes[:, 0]
    inter = (rb - lt).clamp(min=0)
    iou = inter / (size[:, None] + size[None, :] - inter)
    higher = scores[None, :] > scores[:, None]
    return torch.where(higher, 1 - iou, 1.0).prod(1) * scores


def batched_decay(boxes, scores, labels):
    offset = labels.to(boxes) * (boxes.max() + 1)
    return decay(boxes + offset[:, None], scores)


torch.manual_seed(0)
fn = torch.compile(batched_decay, backend="eager")
lo = torch.rand(6)
boxes = torch.stack([lo, lo + 0.2 + torch.rand(6)], 1)
print(f"checksum {fn(boxes, torch.rand(6), torch.tensor([0, 1, 0, 2, 1, 0])).sum().item():.4f}")
