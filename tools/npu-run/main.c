// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include "run.h"

static int work(struct session *s)
{
	const struct options *opt = s->opt;
	struct npu_job_info info = NPU_INIT(info);
	bool ran;
	int ret = 0;

	if (opt->info)
		ret = info_print(s);
	if (!ret && opt->report && !npu_job_info(s->job, &info))
		puts(info.report);
	if (!ret && opt->disasm)
		ret = disasm_print(s);
	if (ret || !options_run(opt))
		return ret;
	ret = inputs_fill(s);
	if (!ret && opt->digest)
		ret = digest_run(s);
	if (!ret && opt->profile)
		ret = profile_run(s);
	if (!ret && opt->trace)
		ret = trace_run(s);
	if (!ret && opt->bench)
		ret = bench_run(s);
	if (!ret && s->run)
		clip_warn(s);
	ran = opt->digest || opt->profile || opt->trace || opt->bench;
	if (ret || (ran && !opt->num_output && !opt->top))
		return ret;
	if (!ran) {
		ret = session_submit(s, 0, NULL);
		if (!ret)
			clip_warn(s);
	}
	return ret ? ret : outputs_write(s);
}

int main(int argc, char **argv)
{
	struct options opt;
	struct session s = { .opt = &opt };
	int ret;

	ret = options_parse(&opt, argc, argv);
	if (ret)
		return ret < 0 ? 0 : ret;
	if (opt.doctor)
		return doctor_run(&opt);
	if (opt.check) {
		ret = check_run(&s);
	} else {
		ret = session_open(&s);
		if (!ret)
			ret = work(&s);
	}
	session_close(&s);
	if (fflush(stdout) && !ret)
		ret = fail("standard output: write error");
	return ret;
}
