/* metrics.h - what a net's answers are worth, gathered over any number of batches.
 *
 *     eg_metrics *m = eg_metrics_new();
 *     EG_FOR_EACH(sample, valid) {
 *         eg_tensor *logits = eg_module_forward(net, sample[0]);
 *         eg_metrics_accuracy(m, "accuracy", logits, sample[1]);
 *         eg_metrics_top_k(m, "top5", logits, sample[1], 5);
 *     }
 *     printf("%.4f %.4f\n", eg_metrics_value(m, "accuracy"), eg_metrics_value(m, "top5"));
 *     eg_metrics_free(m);
 *
 * A name stands for one metric from its first batch on; with another function it is EG_EINVAL. What is gathered are a
 * few numbers per metric, on the device the batches are on, which is not waited for before a value is read: sums in f64
 * and counts, so that the value is that of all batches as one, however they were cut. Nothing is recorded on tapes. In
 * a checkpoint they are a part as others are: eg_saver_metrics (saver.h).
 *
 * Logits are [N, classes] or [N, classes, places...], labels integers (i64, i32, u8) [N] or [N, places...]. Labels
 * below 0 count nowhere; of one beyond the classes accuracy says that it was missed, the others EG_EINDEX, on a device
 * perhaps by the next call that waits for it. EG_ESHAPE and EG_EDTYPE for what does not fit. */
#ifndef EGRET_METRICS_H
#define EGRET_METRICS_H

#include <egret/base.h>
#include <egret/comm.h>
#include <egret/io.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_metrics eg_metrics;

/* Without a metric; the caller frees it. */
EG_API eg_metrics *eg_metrics_new(void);
/* NULL is fine. */
EG_API void eg_metrics_free(eg_metrics *m);
/* Forgets all batches, not the names. */
EG_API eg_status eg_metrics_reset(eg_metrics *m);

/* Adds all that others have gathered. What is of another function under the same name is EG_EINVAL. */
EG_API eg_status eg_metrics_add(eg_metrics *m, eg_metrics *others);
/* What all ranks of a communicator have gathered together: then each has that. A rank without batches may lack names
 * that rank 0 has, not the other way round. All ranks' call. */
EG_API eg_status eg_metrics_all_reduce(eg_metrics *m, eg_comm *comm);

/* ---- batches ------------------------------------------------------------------------------- */

/* The mean of all elements of value, numbers or bools. */
EG_API eg_status eg_metrics_mean(eg_metrics *m, const char *name, eg_tensor *value);
/* e to the mean of losses, each of which is itself a mean over `count` words: perplexity. loss has one element. */
EG_API eg_status eg_metrics_perplexity(eg_metrics *m, const char *name, eg_tensor *loss, int64_t count);
/* The share of labels that are the largest logit's class, and that are among the k largest (ties count for the label).
 */
EG_API eg_status eg_metrics_accuracy(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels);
EG_API eg_status eg_metrics_top_k(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels, int64_t k);
/* How often each class was taken for each; for eg_metrics_matrix and eg_metrics_of. Its value is the accuracy. */
EG_API eg_status eg_metrics_confusion(eg_metrics *m, const char *name, eg_tensor *logits, eg_tensor *labels);
/* The same of two classes: score is above the threshold, or not; labels are bools or integers, 0 or not, in its shape.
 */
EG_API eg_status eg_metrics_binary(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels,
                                   double threshold);
/* The area under the ROC curve of scores in 0..1, by 4096 thresholds: off by no more than the share of pairs that lie
 * between two of them. Scores outside are EG_EINVAL. */
EG_API eg_status eg_metrics_auc(eg_metrics *m, const char *name, eg_tensor *score, eg_tensor *labels);
/* (2 sum of t p + 1) / (sum of t + sum of p + 1) over all elements: Dice's coefficient of soft masks, smoothed by 1. */
EG_API eg_status eg_metrics_dice(eg_metrics *m, const char *name, eg_tensor *p, eg_tensor *t);

/* The share of rows of ids [N, n], integers, that are those of the reference from end to end; what is below 0 there
 * counts for nothing: accuracy of whole sequences. */
EG_API eg_status eg_metrics_sequences(eg_metrics *m, const char *name, eg_tensor *ids, eg_tensor *reference);

typedef struct eg_depth_options {
    size_t size;
    double least, most; /* depths that count, in the truth's unit; what was said is cut to them; 0: 1e-3, 80 */
    bool median;        /* each photo's depths times what makes its median the true one: of nets that cannot know how
                           large things are */
} eg_depth_options;

/* The scores of depth [N, ...] beside the truth, of each photo for itself and then their mean; where the truth is not
 * between least and most none is known. The value is EG_DEPTH_ABS_REL. Eigen et al. 2014. */
EG_API eg_status eg_metrics_depth_with(eg_metrics *m, const char *name, eg_tensor *depth, eg_tensor *truth,
                                       const eg_depth_options *options);
#define eg_metrics_depth(...) EG_METRICS_DEPTH_(__VA_ARGS__, )
#define EG_METRICS_DEPTH_(m, name, depth, truth, ...) \
    eg_metrics_depth_with(m, name, depth, truth, EG_OPTIONS_(eg_depth_options, __VA_ARGS__))

/* What a path is laid on the true one by, before it is said how far off it is. */
typedef enum eg_path_fit {
    EG_FIT_SIMILARITY, /* turned, moved and made larger as brings it nearest (Umeyama 1991) */
    EG_FIT_RIGID,      /* turned and moved (Horn 1987) */
    EG_FIT_SCALE,      /* brought to the same beginning and made larger: of a few steps, whose errors are sums */
} eg_path_fit;

typedef struct eg_trajectory_options {
    size_t size;
    eg_path_fit fit;
} eg_trajectory_options;

/* How far a camera's places, path [N, T, 3] of T points each, are from the true ones, of each path for itself and then
 * their mean: the absolute trajectory error, the root of the mean of squared distances (Sturm et al. 2012). Of
 * EG_FIT_SCALE the root of their sum over T, as those who learn from snippets of video say it (Zhou et al. 2017). */
EG_API eg_status eg_metrics_trajectory_with(eg_metrics *m, const char *name, eg_tensor *path, eg_tensor *truth,
                                            const eg_trajectory_options *options);
#define eg_metrics_trajectory(...) EG_METRICS_TRAJECTORY_(__VA_ARGS__, )
#define EG_METRICS_TRAJECTORY_(m, name, path, truth, ...) \
    eg_metrics_trajectory_with(m, name, path, truth, EG_OPTIONS_(eg_trajectory_options, __VA_ARGS__))
/* The path, f64, so laid on the true one: to be drawn beside it. */
EG_API eg_tensor *eg_trajectory_fitted(eg_tensor *path, eg_tensor *truth, eg_path_fit fit);

/* ---- language ------------------------------------------------------------------------------ */

/* A call adds what is said of one text, UTF-8, beside one or more references, of which the best counts; of ids, i64,
 * i32 or u8 [n] or [N, n], a row each, what is below 0 is left out. EG_EFORMAT: a text is no UTF-8. Letters beyond
 * ASCII become lower case, and characters punctuation, as utf8proc says; EG_ENOKERNEL without. */

/* What BLEU's words are. */
typedef enum eg_bleu_tokens {
    EG_BLEU_13A,         /* mteval-v13a's: ASCII's punctuation apart, but not in numbers (sacrebleu: "13a") */
    EG_BLEU_INTL,        /* mteval-v14's: Unicode's punctuation, unless numbers are around it, and symbols ("intl") */
    EG_BLEU_CHAR,        /* characters but blanks ("char") */
    EG_BLEU_NONE,        /* what stands between blanks ("none") */
    EG_BLEU_TRANSFORMER, /* of compute_bleu, which came with TensorFlow's Transformer: like EG_BLEU_INTL, of digits */
} eg_bleu_tokens;

/* What precisions that are 0 become (Chen and Cherry 2014). */
typedef enum eg_bleu_smoothing {
    EG_SMOOTH_EXP,   /* the k-th of them 1 / 2^k of one n-gram */
    EG_SMOOTH_FLOOR, /* `amount` n-grams */
    EG_SMOOTH_ADD,   /* of all but the first order so many are added to what was right, and to all */
    EG_SMOOTH_NONE,  /* BLEU is 0 */
} eg_bleu_smoothing;

typedef struct eg_bleu_options {
    size_t size;
    eg_bleu_tokens tokens;
    bool lower; /* of lower-case letters */
    int order;  /* the longest n-grams, at most 16; 0: 4 */
    eg_bleu_smoothing smoothing;
    double amount;  /* 0: 0.1 of EG_SMOOTH_FLOOR, 1 of EG_SMOOTH_ADD; EG_ZERO: 0 */
    bool effective; /* orders that the texts are too short for are left out, as is usual for single sentences */
} eg_bleu_options;

/* BLEU of a corpus (Papineni et al. 2002), 0..100 as sacrebleu computes it, 0 for empty texts; of ids beside one
 * reference each. What happens to sums, smoothing, amount and effective, is for eg_metrics_bleu_score to say; the value
 * is that of their defaults.
 */
EG_API eg_status eg_metrics_bleu_with(eg_metrics *m, const char *name, const char *text, const char *const *references,
                                      int n, const eg_bleu_options *options);
#define eg_metrics_bleu(...) EG_METRICS_BLEU_(__VA_ARGS__, )
#define EG_METRICS_BLEU_(m, name, text, references, n, ...) \
    eg_metrics_bleu_with(m, name, text, references, n, EG_OPTIONS_(eg_bleu_options, __VA_ARGS__))
EG_API eg_status eg_metrics_bleu_ids_with(eg_metrics *m, const char *name, eg_tensor *ids, eg_tensor *reference,
                                          const eg_bleu_options *options);
#define eg_metrics_bleu_ids(...) EG_METRICS_BLEU_IDS_(__VA_ARGS__, )
#define EG_METRICS_BLEU_IDS_(m, name, ids, reference, ...) \
    eg_metrics_bleu_ids_with(m, name, ids, reference, EG_OPTIONS_(eg_bleu_options, __VA_ARGS__))
/* BLEU so far; of the options smoothing, amount and effective count. NaN as eg_metrics_value says. */
EG_API double eg_metrics_bleu_score_with(eg_metrics *m, const char *name, const eg_bleu_options *options);
#define eg_metrics_bleu_score(...) EG_METRICS_BLEU_SCORE_(__VA_ARGS__, )
#define EG_METRICS_BLEU_SCORE_(m, name, ...) \
    eg_metrics_bleu_score_with(m, name, EG_OPTIONS_(eg_bleu_options, __VA_ARGS__))
/* Of one sentence. NaN after a failure. */
EG_API double eg_bleu_with(const char *text, const char *const *references, int n, const eg_bleu_options *options);
#define eg_bleu(...)                       EG_BLEU_(__VA_ARGS__, )
#define EG_BLEU_(text, references, n, ...) eg_bleu_with(text, references, n, EG_OPTIONS_(eg_bleu_options, __VA_ARGS__))

typedef struct eg_rouge_options {
    size_t size;
    int order; /* 1, 2, ..: of n-grams, ROUGE-N; 0: of the longest common subsequence, ROUGE-L */
    bool stem; /* English words without their endings (Porter 1980, as NLTK has it) */
} eg_rouge_options;

/* ROUGE (Lin 2004) of words of ASCII's letters and digits in lower case: mean of F1, as rouge-score says it;
 * eg_metrics_of has precision and recall. */
EG_API eg_status eg_metrics_rouge_with(eg_metrics *m, const char *name, const char *text, const char *const *references,
                                       int n, const eg_rouge_options *options);
#define eg_metrics_rouge(...) EG_METRICS_ROUGE_(__VA_ARGS__, )
#define EG_METRICS_ROUGE_(m, name, text, references, n, ...) \
    eg_metrics_rouge_with(m, name, text, references, n, EG_OPTIONS_(eg_rouge_options, __VA_ARGS__))

/* Of answers as SQuAD's script compares them, in lower case as Python's str.lower() has it, without punctuation and
 * articles (Rajpurkar et al. 2016, 2018): the share that is one of those given, and the mean F1 of their words. Without
 * answers, or with none that has a word, the right one is "". */
EG_API eg_status eg_metrics_exact_match(eg_metrics *m, const char *name, const char *text, const char *const *answers,
                                        int n);
EG_API eg_status eg_metrics_answer_f1(eg_metrics *m, const char *name, const char *text, const char *const *answers,
                                      int n);

/* How tags say where spans begin and end: B-PER begins, I-PER is inside, E- and L- end, S- and U- are spans of one, O
 * is outside. */
typedef enum eg_span_scheme {
    EG_SPANS_LENIENT, /* whatever the tags say, as conlleval reads them and seqeval by default */
    EG_SPANS_IOB1,    /* seqeval's strict mode, of a scheme: what is not in order is no span; a letter of another */
    EG_SPANS_IOB2,    /* scheme is EG_EINVAL */
    EG_SPANS_IOE1,
    EG_SPANS_IOE2,
    EG_SPANS_IOBES,
    EG_SPANS_BILOU,
} eg_span_scheme;

/* F1 of spans (Tjong Kim Sang and Buchholz 2000), 0 without spans, right if begin, end and type are. tags and labels
 * are integers [T] or [N, T], alike, a sentence each row, in which `names` are numbered; places with a label below 0
 * are left out. Types, in the order of names, are the classes of eg_metrics_of; eg_metrics_matrix is [types, 3]: taken,
 * there, right. */
EG_API eg_status eg_metrics_spans(eg_metrics *m, const char *name, eg_tensor *tags, eg_tensor *labels,
                                  const char *const *names, int n, eg_span_scheme scheme);

/* Edits (Levenshtein 1966) over the length of the reference, of all together: word error rate, of what is between
 * spaces, character error rate without the blanks around, both as jiwer 4 computes them, and of ids. If all references
 * are empty, the value is the number of edits. */
EG_API eg_status eg_metrics_wer(eg_metrics *m, const char *name, const char *text, const char *reference);
EG_API eg_status eg_metrics_cer(eg_metrics *m, const char *name, const char *text, const char *reference);
EG_API eg_status eg_metrics_edits(eg_metrics *m, const char *name, eg_tensor *ids, eg_tensor *reference);
/* The least number of ids put in, left out or changed that make one of the other, integers [n]; -1 after a failure. */
EG_API int64_t eg_edit_distance(eg_tensor *ids, eg_tensor *reference);

/* ---- values -------------------------------------------------------------------------------- */

typedef enum eg_class_score {
    EG_PRECISION, /* of those taken for the class, the share that are of it */
    EG_RECALL,    /* of those of the class, the share taken for it */
    EG_F1,        /* their harmonic mean */
    EG_IOU,       /* those of it and taken for it, over those that are either */
} eg_class_score;

/* The value so far; waits for the device. NaN before the first batch, and of what is 0 / 0 where the metric's own
 * description has no value for it. EG_EINDEX, and NaN, for a
 * name there is not. */
EG_API double eg_metrics_value(eg_metrics *m, const char *name);
/* A score of one class of a confusion, or type of spans; for class -1 the mean over the classes that have one: of
 * EG_IOU the mean intersection over union of segmentation; of types of spans that are taken or there the mean that
 * seqeval calls macro. For class -2 that of all of them as one. Of ROUGE for class -1 the mean of precision, recall or
 * F1. */
EG_API double eg_metrics_of(eg_metrics *m, const char *name, eg_class_score score, int64_t of_class);
typedef enum eg_depth_score {
    EG_DEPTH_ABS_REL,  /* mean of |d - t| / t */
    EG_DEPTH_SQ_REL,   /* mean of (d - t)^2 / t */
    EG_DEPTH_RMSE,     /* root of the mean of (d - t)^2 */
    EG_DEPTH_RMSE_LOG, /* the same of logarithms */
    EG_DEPTH_DELTA1,   /* the share for which max(d / t, t / d) is below 1.25, */
    EG_DEPTH_DELTA2,   /* its square, */
    EG_DEPTH_DELTA3,   /* its cube */
} eg_depth_score;
/* One of them of eg_metrics_depth. */
EG_API double eg_metrics_depth_score(eg_metrics *m, const char *name, eg_depth_score score);
/* The counts of a confusion, i64 [classes, classes]: how many of class i (row) were taken for class j; of spans. */
EG_API eg_tensor *eg_metrics_matrix(eg_metrics *m, const char *name);

/* How many metrics there are, and the i-th's name, in the order of their first batches; NULL and EG_EINDEX outside. */
EG_API int eg_metrics_count(const eg_metrics *m);
EG_API const char *eg_metrics_name(const eg_metrics *m, int i);

/* What is gathered, by name: tensors of the metrics' own, not copies. The map is the caller's. And back again: all, and
 * nothing but, what the map has; the metrics that m had are gone. EG_EFORMAT for what is none of metrics, by name. */
EG_API eg_tensors *eg_metrics_state(eg_metrics *m);
EG_API eg_status eg_metrics_load_state(eg_metrics *m, const eg_tensors *state);

EG_END_DECLS

#endif
