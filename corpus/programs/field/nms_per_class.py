# expect: GB0036 @ 21
# expect: GB0036 @ 22
# also: GB7000 @ 22
# source: https://github.com/MrParosk/soft_nms/pull/14
# fix: keep-tensor ; auto: manual (boxes of different classes are moved apart)
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
    out = torch.zeros_like(scores)
    for c in torch.unique(labels):
        mine = torch.where(labels == c)[0]
        out[mine] = decay(boxes[mine], scores[mine])
    return out


torch.manual_seed(0)
fn = torch.compile(batched_decay, backend="eager")
lo = torch.rand(6)
boxes = torch.stack([lo, lo + 0.2 + torch.rand(6)], 1)
print(f"checksum {fn(boxes, torch.rand(6), torch.tensor([0, 1, 0, 2, 1, 0])).sum().item():.4f}")
