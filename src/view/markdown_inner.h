/* markdown_inner.h - what the files of Markdown share. */
#pragma once
#include "view/markdown.h"

/* The content of a paragraph, a heading or a cell: emphasis, code, links. */
void markdown_spans(struct buf *b, struct text t);
