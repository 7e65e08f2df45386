import logging

log = logging.getLogger("boost")


def sharpness(weights):
    p = weights.softmax(0)
    return p.max() / p.min()


def announce(margin):
    log.info("smallest margin: %s", margin)


def margin_report(scores, y):
    margin = (scores * y).min()
    return margin
