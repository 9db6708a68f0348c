// SPDX-License-Identifier: MIT
#include "placement.h"

#include <cjson/cJSON.h>
#include <string.h>

static uint64_t number(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble < 9e15 ?
		       (uint64_t)v->valuedouble :
		       0;
}

void ocr_placement_parse(const char *json, struct ocr_placement *placement)
{
	cJSON *root = cJSON_Parse(json);

	memset(placement, 0, sizeof(*placement));
	placement->nodes_npu = number(root, "npu") + number(root, "fused") + number(root, "views");
	placement->nodes = placement->nodes_npu + number(root, "refused");
	placement->macs = number(root, "macs");
	placement->macs_npu = number(root, "npu_macs");
	cJSON_Delete(root);
}
