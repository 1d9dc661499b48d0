// The spans of OTLP bodies as OpenTelemetry's own package reads them: one line of JSON each. Usage: otlp-decode.cjs PACKAGES FILE...
const fs = require("fs");
const path = require("path");
const [packages, ...files] = process.argv.slice(2);
const root = require(path.join(packages, "@opentelemetry/otlp-transformer/build/src/generated/root.js"));
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const hex = (bytes) => Buffer.from(bytes || []).toString("hex");
for (const file of files) {
    const bytes = fs.readFileSync(file);
    const message = file.endsWith(".json") ? Request.fromObject(JSON.parse(bytes)) : Request.decode(bytes);
    const flaw = Request.verify(message);
    if (flaw) throw new Error(flaw);
    for (const resource of message.resourceSpans)
        for (const scope of resource.scopeSpans)
            for (const s of scope.spans) {
                const attributes = {};
                for (const a of s.attributes) attributes[a.key] = a.value.stringValue ?? Number(a.value.intValue);
                console.log(JSON.stringify({
                    service: resource.resource.attributes.find((a) => a.key === "service.name").value.stringValue,
                    scope: scope.scope.name, trace: hex(s.traceId), span: hex(s.spanId), parent: hex(s.parentSpanId), name: s.name,
                    kind: s.kind, start: String(s.startTimeUnixNano), end: String(s.endTimeUnixNano), attributes,
                }));
            }
}
