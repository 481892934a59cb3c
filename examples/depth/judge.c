/* judge.c - see judge.h. */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

static void forget(judge *j)
{
    for (int64_t i = 0; i < j->count; i++) {
        eg_release(j->tracks[i].found);
        eg_release(j->tracks[i].truth);
    }
    j->count = 0;
}

static void free_judge(void *given)
{
    judge *j = given;
    forget(j);
    eg_metrics_free(j->scores);
    free(j->tracks);
    free(j);
}

judge *judge_new(eg_run *run, int64_t videos)
{
    judge *j = calloc(1, sizeof *j);
    track *tracks = calloc((size_t)videos, sizeof *tracks);
    if (!j || !tracks) {
        eg_run_heed(run, eg_fail(EG_ENOMEM, "depth", "out of memory"));
        free(j);
        free(tracks);
        return NULL;
    }
    *j = (judge){eg_metrics_new(), tracks, 0, videos};
    if (eg_run_own(run, j, free_judge)) {
        return NULL;
    }
    return eg_run_heed(run, j->scores ? EG_OK : eg_last_error()->code) ? NULL : j;
}

/* ---- ways -------------------------------------------------------------------------------------- */

/* Of motions [N, 2, 6] the places that they lead to, [N, 2, 3, 4] as frames.h has them. */
static eg_tensor *ways_of(eg_tensor *motions)
{
    eg_tensor *flat = eg_reshape(motions, EG_SHAPE(-1, MOTION));
    eg_tensor *parts[2] = {loss_rotations(flat), eg_unsqueeze(eg_slice(flat, 1, 0, 3, 1), 2)};
    eg_tensor *ways = eg_concat(parts, 2, 2);
    return ways ? eg_reshape(ways, EG_SHAPE(eg_size(motions, 0), 2, 3, 4)) : NULL;
}

/* Goes on from a place by a way, both 3 rows of 4. */
static void go_on(double place[12], const double way[12])
{
    double next[12];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            next[4 * i + k] = k == 3 ? place[4 * i + 3] : 0;
            for (int m = 0; m < 3; m++) {
                next[4 * i + k] += place[4 * i + m] * way[4 * m + k];
            }
        }
    }
    memcpy(place, next, sizeof next);
}

static const double here[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

/* Points on the way, from 0 on: [1, n + 1, 3] of ways one behind the other, [n, 3, 4]. */
static eg_tensor *points_on(eg_tensor *ways)
{
    const int64_t n = eg_size(ways, 0);
    double *of = n > 0 ? malloc((size_t)n * 12 * sizeof *of) : NULL,
           *at = calloc((size_t)(n > 0 ? n + 1 : 1) * 3, sizeof *at);
    double place[12];
    memcpy(place, here, sizeof place);
    eg_tensor *points = NULL;
    if (of && at && !eg_to_values(ways, of)) {
        for (int64_t i = 0; i < n; i++) {
            go_on(place, of + 12 * i);
            for (int k = 0; k < 3; k++) {
                at[3 * (i + 1) + k] = place[4 * k + 3];
            }
        }
        points = eg_from_values(EG_SHAPE(1, n + 1, 3), EG_F64, at);
    } else if (ways && (!of || !at)) {
        eg_fail(EG_ENOMEM, "depth", "out of memory for a way");
    }
    free(of);
    free(at);
    return points;
}

/* Whether the true way is known: rotations are not zeros. */
static bool known(eg_tensor *ways)
{
    return ways && eg_item(eg_sum(eg_abs(ways))) > 0;
}

/* Ways [.., 3, 4] behind those that were there, kept instead of them. */
static eg_status append(eg_tensor **kept, eg_tensor *ways)
{
    eg_tensor *all = *kept ? eg_concat((eg_tensor *[]){*kept, ways}, 2, 0) : eg_copy(ways);
    if (!all) {
        return eg_last_error()->code;
    }
    eg_release(*kept);
    *kept = eg_keep(all);
    return EG_OK;
}

/* What one three of frames adds to the track of its video: the second way too where it is the first of it, and later
 * those alone by which it is longer. */
static eg_status follow(judge *j, int64_t video, eg_tensor *found, eg_tensor *truth)
{
    const bool begins = !j->count || j->tracks[j->count - 1].video != video;
    if (begins && j->count < j->room) {
        j->tracks[j->count++] = (track){video, NULL, NULL};
    }
    track *t = &j->tracks[j->count - 1];
    const int64_t first = begins ? 0 : 1;
    eg_status st = append(&t->found, eg_slice(found, 0, first, 2, 1));
    return st ? st : append(&t->truth, eg_slice(truth, 0, first, 2, 1));
}

/* ---- gathering --------------------------------------------------------------------------------- */

static eg_status judge_ways(judge *j, eg_tensor *found, eg_tensor *truth, eg_tensor *videos)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_size(videos, 0) && !st; i++) {
        EG_SCOPE {
            eg_tensor *f = eg_select(found, 0, i), *t = eg_select(truth, 0, i);
            if (known(t)) {
                st = eg_metrics_trajectory(j->scores, "snippets", points_on(f), points_on(t), .fit = EG_FIT_SCALE);
            }
            st = st ? st : follow(j, eg_get_int(videos, i), f, t);
        }
    }
    return st;
}

static eg_status judge_batch(judge *j, eg_module *nets, eg_tensor *const *x, const loss_weights *by)
{
    eg_tensor *disparities[SCALES];
    losses l = loss_of(nets, x[IMAGES], x[LENS], by);
    eg_status st = l.loss ? eg_metrics_mean(j->scores, "loss", l.loss) : eg_last_error()->code;
    st = st ? st : nets_disparities(nets, eg_slice(x[IMAGES], 1, 3, 6, 1), disparities);
    if (!st && eg_item(eg_max(x[DEPTHS])) > 0) {
        st = eg_metrics_depth(j->scores, "depth", eg_reciprocal(disparities[0]), x[DEPTHS], .median = true);
    }
    eg_tensor *ways = st ? NULL : eg_to(ways_of(nets_motions(nets, x[IMAGES])), eg_cpu());
    return st ? st : judge_ways(j, ways, eg_to(x[WAYS], eg_cpu()), eg_to(x[VIDEO], eg_cpu()));
}

/* The ways that were gathered become points of a whole path. */
static eg_status end_track(judge *j, track *t)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        const bool is_known = known(t->truth);
        eg_tensor *found = eg_keep(points_on(t->found)), *truth = is_known ? eg_keep(points_on(t->truth)) : NULL;
        eg_release(t->found);
        eg_release(t->truth);
        t->found = found;
        t->truth = truth;
        if (is_known) {
            st = eg_metrics_trajectory(j->scores, "path", found, truth);
        }
        st = found ? st : eg_last_error()->code;
    }
    return st;
}

eg_status judge_videos(eg_run *run, eg_module *nets, eg_dataset *others, const loss_weights *by, judge *j)
{
    forget(j);
    if (eg_run_heed(run, eg_metrics_reset(j->scores)) || eg_run_heed(run, eg_module_eval(nets))) {
        return eg_run_status(run);
    }
    EG_RUN_EACH(x, run, others)
    {
        eg_run_heed(run, judge_batch(j, nets, x, by));
    }
    for (int64_t i = 0; i < j->count && !eg_run_status(run); i++) {
        eg_run_heed(run, end_track(j, &j->tracks[i]));
    }
    return eg_run_status(run);
}

/* ---- telling ----------------------------------------------------------------------------------- */

bool judge_has(const judge *j, const char *name)
{
    bool found = false;
    for (int i = 0; i < eg_metrics_count(j->scores); i++) {
        found = found || !strcmp(eg_metrics_name(j->scores, i), name);
    }
    return found;
}

double judge_worth(const judge *j)
{
    return eg_metrics_value(j->scores, judge_has(j, "depth") ? "depth" : "loss");
}

eg_status judge_log(eg_run *run, const judge *j)
{
    return eg_run_log_metrics(run, "valid/", j->scores);
}

void judge_tell(eg_run *run, const judge *j)
{
    static const char *const names[] = {"abs rel", "sq rel", "rmse", "rmse log", "< 1.25", "< 1.25^2", "< 1.25^3"};
    char line[400];
    int n = snprintf(line, sizeof line, "depths:");
    for (int i = 0; i < 7 && judge_has(j, "depth"); i++) {
        n += snprintf(line + n, sizeof line - (size_t)n, " %s %.4f%s", names[i],
                      eg_metrics_depth_score(j->scores, "depth", (eg_depth_score)i), i < 6 ? "," : "");
    }
    if (judge_has(j, "depth")) {
        eg_run_say(run, "%s", line);
    }
    if (judge_has(j, "path")) {
        eg_run_say(run, "ways: absolute trajectory error of three frames %.5f, of whole videos %.4f",
                   eg_metrics_value(j->scores, "snippets"), eg_metrics_value(j->scores, "path"));
    }
    eg_run_say(run, "loss: %.4f", eg_metrics_value(j->scores, "loss"));
}
