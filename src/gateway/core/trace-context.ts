/** Where a piece of work stands in a trace (W3C Trace Context): what those who follow it refer to. */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string
}

/** On whose behalf a verb works; absent where it is the gateway's own time that moves it. */
export interface Origin {
  /** Stands in every log line of the request, and in its answer. */
  readonly request: string
  readonly span: Span
}

/** One piece of work in a trace. Nothing in it fails or waits, and without tracing it only carries what the caller sent. */
export interface Span {
  /** For log lines; undefined when there is no trace. */
  readonly traceId: string | undefined
  /** What the caller sent. */
  readonly received: TraceContext | undefined
  /** What those who come after refer to: this span where it is recorded, else what the caller sent. */
  context(): TraceContext | undefined
  /** The work goes on with what `context` began: in that trace, unless the caller is in one already; then it is linked. */
  goesOn(context: TraceContext | undefined): void
  /** The work is another one, and refers to `context`. */
  refersTo(context: TraceContext | undefined): void
  /** Names and ids only; never what was proposed. The span is worth recording. */
  note(facts: Facts): void
  /** `failure` is the code of a refusal; `ours` when the gateway is to blame. */
  end(failure?: { readonly code: string; readonly ours: boolean }): void
}

export interface Facts {
  readonly [name: string]: string | number | boolean | undefined
}

/** Without tracing: what the caller sent is kept with the thread, and nothing else happens. */
export function carried(received: TraceContext | undefined): Span {
  if (received === undefined) return NOTHING
  return { ...NOTHING, traceId: traceIdOf(received), received, context: () => received }
}

const NOTHING: Span = {
  traceId: undefined,
  received: undefined,
  context: () => undefined,
  goesOn: () => undefined,
  refersTo: () => undefined,
  note: () => undefined,
  end: () => undefined,
}

/** Of what carries one with it, such as a thread. */
export function traceOf({ traceparent, tracestate }: Partial<TraceContext>): TraceContext | undefined {
  if (traceparent === undefined) return undefined
  return { traceparent, ...(tracestate === undefined ? {} : { tracestate }) }
}

export const traceIdOf = ({ traceparent }: TraceContext): string => traceparent.slice(3, 35)
