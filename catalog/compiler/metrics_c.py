"""gen/metrics.h and gen/metrics.c: the enum of the metrics and their descriptions for src/base/metric.c."""

from decimal import Decimal

from .c import BANNER, enum_block, quote
from .model import upper


def header(catalog):
    out = [BANNER, "#ifndef AR_METRICS_H\n#define AR_METRICS_H\n", '#include "metric.h"\n', "/* clang-format off */\n"]
    out.append(enum_block("ar_metric_id", "AR_METRIC", [m.name for m in catalog.metrics], first=0, count=True))
    out.append("extern const struct ar_metric_desc ar_metric_descs[AR_METRIC_COUNT];\n\n#endif")
    return "\n".join(out) + "\n"


def buckets(m):
    bounds = ", ".join(str(int(Decimal(b) * m.scale)) for b in m.buckets)
    return f"(const int64_t[]){{ {bounds} }}, {len(m.buckets)}" if m.buckets else "NULL, 0"


def row(m):
    labels = ", ".join(quote(label) for label in m.labels) or "NULL"
    return (f"\t[AR_METRIC_{upper(m.name)}] = {{ {quote(m.scraped)}, {quote(m.doc)},\n"
            f"\t  AR_METRIC_{m.kind.upper()}, {m.scale}, {{ {labels} }}, {buckets(m)} }},")


def source(catalog):
    rows = "\n".join(row(m) for m in catalog.metrics)
    return (f'{BANNER}\n#include "metrics.h"\n\n/* clang-format off */\n\n'
            f"const struct ar_metric_desc ar_metric_descs[AR_METRIC_COUNT] = {{\n{rows}\n}};\n")


def outputs(catalog):
    return {"metrics.h": header(catalog), "metrics.c": source(catalog)}
