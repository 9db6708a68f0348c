// SPDX-License-Identifier: MIT
#include "gen_operators.h"

int main(void)
{
	npu_gen_operators(stdout);
	return fflush(stdout) || ferror(stdout);
}
