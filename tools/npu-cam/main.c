// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "cam.h"

int main(int argc, char **argv)
{
	struct options opt;
	struct stream *s;
	int ret = options_parse(&opt, argc, argv);

	if (ret)
		return ret < 0 ? 0 : ret;
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail("no memory");
	s->opt = &opt;
	ret = stream_run(s);
	free(s);
	return ret;
}
