// SPDX-License-Identifier: MIT
/*
 * --doctor: which parts there are, in which versions, and which pair does not fit. A new part (the
 * kernel driver's version, the firmware's) is a row of the table below and a function.
 */
#include "doctor.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*const probes[])(struct doctor *d) = {
	doctor_library,
	doctor_shared_library,
	doctor_compiler,
	doctor_instructions,
	doctor_formats,
	doctor_host_ops,
	doctor_nodes,
	doctor_device,		/* what the next two have to say comes from it */
	doctor_driver,
	doctor_firmware,
	doctor_processor,
};

void doctor_say(struct doctor *d, enum state state, const char *topic, const char *advice,
		const char *fmt, ...)
{
	struct line *grown;
	va_list ap;

	if (d->num == d->room) {
		grown = realloc(d->line, (d->room + 32) * sizeof(*grown));
		if (!grown) {
			d->no_memory = true;
			return;
		}
		d->line = grown;
		d->room += 32;
	}
	d->line[d->num] = (struct line){ .topic = topic, .state = state };
	snprintf(d->line[d->num].advice, sizeof(d->line[d->num].advice), "%s",
		 advice ? advice : "");
	va_start(ap, fmt);
	vsnprintf(d->line[d->num].text, sizeof(d->line[d->num].text), fmt, ap);
	va_end(ap);
	d->num++;
}

static unsigned int count_wrong(const struct doctor *d)
{
	unsigned int n = 0;

	for (size_t i = 0; i < d->num; i++)
		n += d->line[i].state == STATE_WRONG;
	return n;
}

static void print_text(const struct doctor *d)
{
	unsigned int wrong = count_wrong(d);

	for (size_t i = 0; i < d->num; i++)
		say("%-16s%s%s%s\n", d->line[i].topic, strlen(d->line[i].topic) < 16 ? "" : ": ",
		    d->line[i].state == STATE_NONE ? "none: " : "", d->line[i].text);
	if (!wrong) {
		say("\nall is well\n");
		return;
	}
	say("\n%u %s wrong:\n", wrong, wrong == 1 ? "thing is" : "things are");
	for (size_t i = 0; i < d->num; i++)
		if (d->line[i].state == STATE_WRONG)
			say("* %s: %s\n  -> %s\n", d->line[i].topic, d->line[i].text,
			    d->line[i].advice);
}

static int print_json(const struct doctor *d)
{
	static const char *const names[] = { "good", "none", "wrong" };
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "lines"), *o;

	cJSON_AddBoolToObject(root, "good", !count_wrong(d));
	for (size_t i = 0; i < d->num; i++) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "topic", d->line[i].topic);
		cJSON_AddStringToObject(o, "state", names[d->line[i].state]);
		cJSON_AddStringToObject(o, "text", d->line[i].text);
		if (d->line[i].state == STATE_WRONG)
			cJSON_AddStringToObject(o, "advice", d->line[i].advice);
		cJSON_AddItemToArray(list, o);
	}
	return json_print(root);
}

int doctor_run(const struct options *opt)
{
	struct doctor d = { .opt = opt, .root = opt->root ? opt->root : "",
			    .info = { .size = sizeof(d.info) } };
	int ret = 0;

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		probes[i](&d);
	for (unsigned int i = 0; i < opt->num_models; i++)
		doctor_file(&d, opt->models[i]);
	if (d.no_memory)
		ret = fail("no memory");
	else if (opt->doctor == FORMAT_JSON)
		ret = print_json(&d);
	else
		print_text(&d);
	ret = ret || count_wrong(&d);
	npu_device_close(d.dev);
	free(d.line);
	return ret;
}
