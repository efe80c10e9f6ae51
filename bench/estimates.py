"""Medians, spreads, and how sure a ratio is."""

import random
import statistics

RESAMPLES = 4000


def median(values):
    return statistics.median(values) if values else float("nan")


def spread(values):
    """The whole range in parts of the median."""
    middle = median(values)
    return (max(values) - min(values)) / middle if values and middle else float("nan")


def ratio(ours, theirs):
    """(median, low, high) of the ratios of paired repetitions, low and high bounding 95 % of the
    medians of resampled pairs. Two arms of one repetition ran one right after the other, so what
    slowed the machine for one slowed it for the other: pairs cancel that, means do not."""
    pairs = [a / b for a, b in zip(ours, theirs) if b]
    if not pairs:
        return float("nan"), float("nan"), float("nan")
    generator = random.Random(1)  # the same figures from the same rows
    medians = sorted(statistics.median(generator.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * 0.025)
    return statistics.median(pairs), medians[tail], medians[-1 - tail]


def excludes_one(estimate):
    _, low, high = estimate
    return high < 1 or low > 1
