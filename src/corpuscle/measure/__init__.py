"""Evaluation that people trust: figures with intervals, and with a signature of what was counted and how.

A metric adds up statistics of its items (sentences, mostly), so every metric here takes them by item, resamples the
items for its 95 % interval, and returns a ``Result``. Two systems are compared on the same items: the paired tests.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.measure.bootstrap import (
        accuracy,
        approximate_randomisation,
        bootstrap,
        bootstrap_ratio,
        calibration_error,
        compare,
        compare_f1,
        paired_bootstrap,
        precision_recall,
    )
    from corpuscle.measure.brackets import (
        bracket_counts,
        bracket_scores,
        bracket_scores_by,
        compare_brackets,
        spoken_words,
    )
    from corpuscle.measure.clusterings import compare_clusterings, pair_agreement
    from corpuscle.measure.correlation import agreement, compare_spearman, human_ceiling, rank_correlation, spearman
    from corpuscle.measure.dependencies import attachment, attachment_by, compare_attachment, oracle, punctuation
    from corpuscle.measure.likelihood import (
        compare_perplexity,
        expected_saving,
        least_sure,
        letter_perplexity,
        perplexity,
        token_likelihood,
        unsure_item,
        unsure_words,
    )
    from corpuscle.measure.links import alignment_error, compare_alignments, singleton_fertility
    from corpuscle.measure.mentions import compare_mentions, mention_counts, mention_scores, mention_scores_by_type
    from corpuscle.measure.names import accuracy_at, news_measures, news_statistics
    from corpuscle.measure.normalisation import detection, normalisation_counts, normalisation_scores
    from corpuscle.measure.result import Comparison, Interval, Result, Shown, signature
    from corpuscle.measure.retrieval import ELEVEN_POINT, Ranked, rank_items, retrieval
    from corpuscle.measure.segmentation import (
        OtherText,
        compare_segmentations,
        segmentation_counts,
        segmentation_scores,
    )
    from corpuscle.measure.tags import (
        analyses,
        analyses_by_element,
        analyses_by_probability,
        ranks_of,
        tagging,
        tagging_by_tag,
    )
    from corpuscle.measure.translations import bleu, bleu_rows, compare_bleu

__all__, __getattr__, __dir__ = contents(__name__, __file__)
