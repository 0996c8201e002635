/* How the page looks on a screen and on paper. The policy of the page allows exactly this text. */
#ifndef AR_EXPORT_HTML_STYLE_H
#define AR_EXPORT_HTML_STYLE_H

extern const char ar_html_style[];

#endif
