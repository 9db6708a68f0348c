// SPDX-License-Identifier: MIT
#include "gen_isa.h"

int main(void)
{
	npu_gen_isa(stdout);
	return fflush(stdout) || ferror(stdout);
}
