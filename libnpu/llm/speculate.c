// SPDX-License-Identifier: MIT
/*
 * Speculation: drafts, the one run that holds them against the model, and how long the next ones
 * are.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "llm/speculate.h"

#define MAX_DRAFT	16	/* by default */
#define MIN_MATCH	2	/* by default */
#define MAX_MODEL	8	/* steps that a draft by the small model counts at most */
#define PLAIN_INTERVAL	64	/* steps with drafts after which one without is measured again */
#define SURE_MATCH	4	/* tokens that make a look-up better than a small model */

struct npu_llm_speculator {
	struct npu_llm *llm;
	struct npu_llm_batch *batch;		/* made by the first step */
	struct npu_llm_drafter *drafter;	/* or NULL */
	uint32_t max_draft, min_match;
	bool untimed, warm;
	int32_t *rows;				/* [1 + max_draft] */
	enum npu_llm_draft kind;		/* of the last draft */
	bool fresh;				/* the small model read a new text for it */
	struct npu_llm_pace pace[NPU_LLM_NUM_DRAFTS];
	double plain;			/* seconds of a step without a draft, 0: not known */
	double row;			/* share of these that a drafted row takes more */
	uint32_t since_plain;			/* steps */
	struct npu_llm_speculator_stats stats;
};

/* ---- create and destroy ---- */

static int read_options(struct npu_llm_speculator *sp, const struct npu_llm_speculator_options *opt,
			struct npu_error *err)
{
	const struct npu_llm_info *info = &sp->llm->info;
	uint32_t most = info->max_rows < info->max_logits ? info->max_rows : info->max_logits;

	if (opt->untimed > 1)
		return npu_error_set(err, -EINVAL,
				     "npu_llm_speculator_options: untimed is %u, expected 0 or 1",
				     opt->untimed);
	sp->untimed = sp->warm = opt->untimed;
	sp->max_draft = opt->max_draft ? opt->max_draft : MAX_DRAFT;
	sp->max_draft = sp->max_draft < most ? sp->max_draft : most - 1;
	sp->min_match = opt->min_match ? opt->min_match : MIN_MATCH;
	return opt->model ? npu_llm_drafter_create(sp->llm, opt->model, &sp->drafter, err) : 0;
}

int npu_llm_speculator_create(struct npu_llm *llm,
			      const struct npu_llm_speculator_options *options,
			      struct npu_llm_speculator **speculator, struct npu_error *err)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);
	struct npu_llm_speculator *sp;
	unsigned int i;
	int ret = 0;

	if (!llm || !speculator)
		return npu_error_set(err, -EINVAL, "npu_llm_speculator_create: %s is NULL",
				     llm ? "speculator" : "llm");
	*speculator = NULL;
	if (options)
		ret = npu_struct_read(&opt, sizeof(opt), options, options->size,
				      "npu_llm_speculator_options", err);
	if (ret)
		return ret;
	sp = calloc(1, sizeof(*sp));
	if (!sp)
		return npu_error_set(err, -ENOMEM, "no memory for a speculator");
	sp->llm = npu_llm_get(llm);
	for (i = 0; i < NPU_LLM_NUM_DRAFTS; i++)
		npu_llm_pace_init(&sp->pace[i]);
	ret = read_options(sp, &opt, err);
	if (!ret) {
		sp->rows = calloc(sp->max_draft + 1, sizeof(*sp->rows));
		ret = sp->rows ? 0 : npu_error_set(err, -ENOMEM, "no memory for a speculator");
	}
	if (ret)
		npu_llm_speculator_destroy(sp);
	else
		*speculator = sp;
	return ret;
}

void npu_llm_speculator_destroy(struct npu_llm_speculator *sp)
{
	if (!sp)
		return;
	npu_llm_batch_destroy(sp->batch);
	npu_llm_drafter_destroy(sp->drafter);
	free(sp->rows);
	npu_llm_put(sp->llm);
	free(sp);
}

int npu_llm_speculator_stats(const struct npu_llm_speculator *sp,
			     struct npu_llm_speculator_stats *stats)
{
	if (!stats)
		return -EINVAL;
	return npu_struct_write(stats, stats->size, &sp->stats, sizeof(sp->stats));
}

/* ---- drafts ---- */

int npu_llm_speculator_draft(struct npu_llm_speculator *sp, const int32_t *tokens, size_t num,
			     uint32_t max, int32_t *draft, struct npu_error *err)
{
	uint32_t lookup, model, n = 0, match = 0;
	int ret;

	max = max < sp->max_draft ? max : sp->max_draft;
	lookup = npu_llm_pace_next(&sp->pace[NPU_LLM_DRAFT_LOOKUP], max);
	model = sp->drafter ? npu_llm_pace_next(&sp->pace[NPU_LLM_DRAFT_MODEL], max) : 0;
	sp->kind = NPU_LLM_DRAFT_LOOKUP;
	sp->fresh = false;
	if (lookup && num)
		n = npu_llm_lookup(tokens, num, sp->min_match, lookup, draft, &match);
	if (!model || (n && match >= SURE_MATCH))
		return (int)n;
	ret = npu_llm_drafter_draft(sp->drafter, tokens, num, model, draft, &sp->fresh, err);
	if (!ret)
		return (int)n;
	sp->kind = NPU_LLM_DRAFT_MODEL;
	return ret;
}

void npu_llm_speculator_report(struct npu_llm_speculator *sp, uint32_t drafted, uint32_t accepted)
{
	if (!drafted)
		return;
	sp->stats.drafted[sp->kind] += drafted;
	sp->stats.accepted[sp->kind] += accepted;
	npu_llm_pace_judge(&sp->pace[sp->kind], drafted, accepted, sp->max_draft);
}

/* ---- a step ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The draft behind rows[0]; now and then none, to know what a step without one takes. */
static int draft_rows(struct npu_llm_speculator *sp, struct npu_llm_session *s,
		      struct npu_error *err)
{
	uint32_t left = sp->llm->info.context - s->length;
	int ret;

	if (left < 2 || (!sp->untimed && (sp->plain == 0 || sp->since_plain >= PLAIN_INTERVAL)))
		return 0;
	if (sp->rows[0] < 0 || (uint32_t)sp->rows[0] >= sp->llm->info.vocab)
		return 0;	/* the run says so */
	ret = npu_llm_session_reserve(s, 1, err);
	if (ret)
		return ret;
	s->tokens[s->length] = sp->rows[0];	/* where the run will put it */
	return npu_llm_speculator_draft(sp, s->tokens, s->length + 1, left - 1, sp->rows + 1, err);
}

static int run_rows(struct npu_llm_speculator *sp, struct npu_llm_session *s, uint32_t num,
		    struct npu_error *err)
{
	int ret;

	npu_llm_batch_clear(sp->batch);
	ret = npu_llm_batch_add(sp->batch, s, sp->rows, num, NPU_LLM_WANT_ALL, err);
	return ret < 0 ? ret : npu_llm_batch_run(sp->batch, err);
}

/* How far a median that is tracked moves by the @n-th value. */
static double stride(uint64_t n)
{
	return n < 19 ? 1 / (double)(n + 1) : 0.05;
}

/* Towards the median, which steps that were held up by something else do not move far. */
static void track_plain(struct npu_llm_speculator *sp, double seconds)
{
	double by = stride(sp->stats.plain_steps);

	if (sp->plain == 0)
		sp->plain = seconds;
	else
		sp->plain *= seconds > sp->plain ? 1 + by : 1 - by;
}

/* What a step with @drafts cost, in plain steps. */
static double draft_cost(struct npu_llm_speculator *sp, uint32_t drafts, double seconds)
{
	double cost = seconds / sp->plain, by;

	if (sp->kind == NPU_LLM_DRAFT_MODEL)	/* what it reads and writes differs by step */
		return cost < 1 + drafts + MAX_MODEL ? cost : 1 + drafts + MAX_MODEL;
	by = stride(sp->stats.steps - sp->stats.plain_steps);
	sp->row += (cost - 1) / drafts > sp->row ? by : -by;
	sp->row = sp->row < 0 ? 0 : sp->row > 1 ? 1 : sp->row;
	return 1 + drafts * sp->row;
}

/* What a step with @drafts took, of which @kept were right. */
static void account(struct npu_llm_speculator *sp, uint32_t drafts, uint32_t kept, double seconds)
{
	if (!sp->warm) {	/* the first step has memory to set up: plain, not counted */
		sp->warm = true;
		return;
	}
	sp->stats.steps++;
	sp->stats.seconds += seconds;
	sp->since_plain++;
	if (drafts && (sp->fresh || sp->untimed))
		return;	/* what a prompt takes says nothing of drafts */
	if (drafts) {
		npu_llm_pace_earn(&sp->pace[sp->kind],
				  1 + kept - draft_cost(sp, drafts, seconds));
		return;
	}
	sp->stats.plain_steps++;
	sp->stats.plain_seconds += seconds;
	sp->since_plain = 0;
	track_plain(sp, seconds);
}

/* Rows in order, as far as what is chosen is what was drafted; returns how many drafts are kept. */
static uint32_t choose_rows(struct npu_llm_speculator *sp, struct npu_llm_session *s,
			    uint32_t drafts, npu_llm_choose *choose, void *arg, int32_t *next)
{
	uint32_t base = s->length - drafts, i;

	for (i = 0;; i++) {
		*next = choose(arg, sp->batch, i, s->tokens, base + i);
		if (*next < 0 || i == drafts || *next != sp->rows[i + 1])
			break;
	}
	npu_llm_batch_clear(sp->batch);
	npu_llm_session_truncate(s, base + i, NULL);
	return i;
}

int npu_llm_speculate(struct npu_llm_speculator *sp, struct npu_llm_session *s, int32_t token,
		      npu_llm_choose *choose, void *arg, int32_t *next, struct npu_error *err)
{
	double start = now(), seconds;
	uint32_t drafts, kept;
	int ret;

	if (!sp || !s || !choose || !next)
		return npu_error_set(err, -EINVAL, "npu_llm_speculate: an argument is NULL");
	if (s->llm != sp->llm)
		return npu_error_set(err, -EINVAL,
				     "npu_llm_speculate: the session is of another model");
	sp->rows[0] = token;
	ret = sp->batch ? 0 : npu_llm_batch_create(sp->llm, &sp->batch, err);
	ret = ret ?: draft_rows(sp, s, err);
	drafts = ret > 0 ? (uint32_t)ret : 0;
	ret = ret < 0 ? ret : run_rows(sp, s, 1 + drafts, err);
	if ((ret == -ENOSPC || ret == -E2BIG) && drafts) {	/* one row may have room */
		drafts = 0;
		ret = run_rows(sp, s, 1, err);
	}
	if (ret) {
		if (sp->batch)
			npu_llm_batch_clear(sp->batch);
		return ret;
	}
	seconds = now() - start;
	kept = choose_rows(sp, s, drafts, choose, arg, next);
	account(sp, drafts, kept, seconds);
	/* Drafts behind an end do not count. */
	npu_llm_speculator_report(sp, *next < 0 ? kept : drafts, kept);
	return 0;
}
