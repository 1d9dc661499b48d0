/*
 * markdown.h - notes that a person wrote in Markdown, as HTML for a page.
 *
 * Headings, paragraphs, lists, quotes, code, tables, emphasis and links: what notes are made of.
 * The writer of notes need not be the owner of the page, so all else is text: tags are shown, not
 * followed, and links lead to http, https or a place beside the page. Images become links, as a
 * page asks no other machine for anything.
 */
#pragma once
#include "base/buf.h"

/* Append SOURCE to B. Headings are below the page's own two levels. */
void markdown_html(struct buf *b, struct text source);
