import logging

log = logging.getLogger("boost")


def sharpness(weights):
    p = weights.softmax(0)
    return p.max() / p.min()


def margin_report(scores, y):
    margin = (scores * y).min()
    log.info("smallest margin: %s", margin)
    return margin
