// Vercel's AI SDK 6 by its own telemetry, in the order in which a loop of steps makes spans.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "weather-service" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }))],
});
provider.register();

const model = createOpenAICompatible({ name: "test", baseURL: process.env.MODEL_URL, includeUsage: true })("gpt-test");
const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city !== "北京") throw new Error(`no station in ${city}`);
    return "晴, 21 °C";
  },
});
const result = streamText({
  model,
  system: "You tell the weather.",
  prompt: "How is the weather in 北京 and in Atlantis?",
  tools: { weather },
  stopWhen: stepCountIs(5),
  experimental_telemetry: { isEnabled: true, functionId: "weather-agent", metadata: { sessionId: "session-1" } },
});
await result.consumeStream();
await provider.shutdown();
