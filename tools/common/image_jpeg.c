// SPDX-License-Identifier: MIT
#include "tools/common/image.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

/* A progressive file of a few kilobytes can ask for thousands of passes over the whole picture. */
#define JPEG_SCANS_MAX	500

struct jpeg_in {
	struct jpeg_error_mgr mgr;		/* first: libjpeg hands back a pointer to it */
	struct jpeg_progress_mgr progress;
	jmp_buf jump;
	char text[JMSG_LENGTH_MAX];
	int truncated;
};

static void jpeg_fail(j_common_ptr cinfo)
{
	struct jpeg_in *in = (struct jpeg_in *)cinfo->err;

	cinfo->err->format_message(cinfo, in->text);
	longjmp(in->jump, 1);
}

/* libjpeg fills up a truncated file with grey and warns; half a page is an error here. */
static void jpeg_message(j_common_ptr cinfo, int level)
{
	struct jpeg_in *in = (struct jpeg_in *)cinfo->err;

	if (level >= 0 || cinfo->err->msg_code != JWRN_JPEG_EOF)
		return;
	in->truncated = 1;
	jpeg_fail(cinfo);
}

static void jpeg_watch(j_common_ptr cinfo)
{
	struct jpeg_in *in = (struct jpeg_in *)cinfo->err;

	if (cinfo->is_decompressor &&
	    ((j_decompress_ptr)cinfo)->input_scan_number > JPEG_SCANS_MAX) {
		snprintf(in->text, sizeof(in->text), "more than %d scans", JPEG_SCANS_MAX);
		longjmp(in->jump, 1);
	}
}

static int jpeg_orientation(j_decompress_ptr cinfo)
{
	static const uint8_t magic[6] = "Exif\0";
	jpeg_saved_marker_ptr m;

	for (m = cinfo->marker_list; m; m = m->next)
		if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && !memcmp(m->data, magic, 6))
			return npu_image_exif_orientation(m->data + 6, m->data_length - 6);
	return 1;
}

/* Adobe writes CMYK inverted (0 is full ink), and every file in the wild follows it. */
static void jpeg_cmyk_row(const uint8_t *cmyk, int width, int inverted, uint8_t *rgb)
{
	int x, c;

	for (x = 0; x < width; x++, cmyk += 4, rgb += 3)
		for (c = 0; c < 3; c++) {
			unsigned int ink = inverted ? cmyk[c] : 255u - cmyk[c];
			unsigned int key = inverted ? cmyk[3] : 255u - cmyk[3];

			rgb[c] = (uint8_t)((ink * key + 127) / 255);
		}
}

static void jpeg_rows(j_decompress_ptr cinfo, struct npu_image *img, uint8_t *cmyk)
{
	while (cinfo->output_scanline < cinfo->output_height) {
		uint8_t *rgb = img->rgb + (size_t)cinfo->output_scanline * (size_t)img->width * 3;
		JSAMPROW row = cmyk ? cmyk : rgb;

		jpeg_read_scanlines(cinfo, &row, 1);
		if (cmyk)
			jpeg_cmyk_row(cmyk, img->width, cinfo->saw_Adobe_marker, rgb);
	}
}

int npu_image_decode_jpeg(const uint8_t *data, size_t len, struct npu_image *img, int *orientation,
			  struct npu_error *why)
{
	struct jpeg_decompress_struct cinfo;
	struct jpeg_in in = { .truncated = 0 };
	/* volatile: changed between setjmp() and a longjmp(). */
	uint8_t *volatile cmyk = NULL;
	int err;

	*orientation = 1;
	memset(&cinfo, 0, sizeof(cinfo));
	cinfo.err = jpeg_std_error(&in.mgr);
	in.mgr.error_exit = jpeg_fail;
	in.mgr.emit_message = jpeg_message;
	if (setjmp(in.jump)) {
		err = npu_error_set(why, -EBADMSG, "%s JPEG: %s",
				    in.truncated ? "truncated" : "corrupt", in.text);
		goto out;
	}
	jpeg_create_decompress(&cinfo);
	in.progress.progress_monitor = jpeg_watch;
	cinfo.progress = &in.progress;
	jpeg_mem_src(&cinfo, data, len);
	jpeg_save_markers(&cinfo, JPEG_APP0 + 1, 0xffff);
	jpeg_read_header(&cinfo, TRUE);
	err = npu_image_check_size(cinfo.image_width, cinfo.image_height, why);
	if (err)
		goto out;
	if (cinfo.num_components == 4) {
		cinfo.out_color_space = JCS_CMYK;
		cmyk = malloc((size_t)cinfo.image_width * 4);
	} else {
		cinfo.out_color_space = JCS_RGB;
	}
	err = npu_image_alloc(img, (int)cinfo.image_width, (int)cinfo.image_height, 0, why);
	if (err)
		goto out;
	if (cinfo.num_components == 4 && !cmyk) {
		err = npu_error_set(why, -ENOMEM, "no memory for a row of %u pixels",
				    cinfo.image_width);
		goto out;
	}
	*orientation = jpeg_orientation(&cinfo);
	jpeg_start_decompress(&cinfo);
	jpeg_rows(&cinfo, img, cmyk);
	jpeg_finish_decompress(&cinfo);
	err = 0;
out:
	free(cmyk);
	jpeg_destroy_decompress(&cinfo);
	if (err)
		npu_image_free(img);
	return err;
}
