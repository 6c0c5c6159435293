/** A position in a trace (W3C Trace Context) that later work refers to. */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string
}

/** The requests that traces show. Their number is small, because each span adds to the time of a decision. */
const TRACED = ['submit', 'revise', 'poll', 'reissue', 'redeem', 'vote'] as const
export type Work = (typeof TRACED)[number] | 'deliver'

/** The span of an operation, which begins the operation's name. A report may be a revision. */
export const workOf = (operation: string): Work | undefined =>
  operation === 'report' ? 'revise' : TRACED.find((work) => operation.split('_')[0] === work)

/** The request that a verb serves; absent when a timer triggers the act. */
export interface Origin {
  /** The id in every log line of the request, and in its answer. */
  readonly request: string
  /** Absent without tracing, when the caller sent no trace. */
  readonly span?: Span | undefined
}

/**
 * One span of a trace. Its methods never fail or block. Without tracing, the span only carries the caller's context.
 */
export interface Span {
  /** The trace id for log lines; undefined without a trace. */
  readonly traceId: string | undefined
  /** The caller's context. */
  readonly received: TraceContext | undefined
  /** The context for later work: this span's if the span is recorded, otherwise the caller's. */
  context(): TraceContext | undefined
  /** Continues the trace of `context`. When the caller has its own trace, links to it. */
  goesOn(context: TraceContext | undefined): void
  /** Links to `context` as the context of separate work. */
  refersTo(context: TraceContext | undefined): void
  /** Records facts, and marks the span as worth recording. Facts are names and ids, never content of a call. */
  note(facts: Facts): void
  /** Ends the span. `failure` is the code of a refusal; `ours` when the gateway is at fault. */
  end(failure?: { readonly code: string; readonly ours: boolean }): void
}

export interface Facts {
  readonly [name: string]: string | number | boolean | undefined
}

/** A span for use without tracing, which only carries the caller's context. */
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

/** Returns the trace context that a record carries. */
export function traceOf({ traceparent, tracestate }: Partial<TraceContext>): TraceContext | undefined {
  if (traceparent === undefined) return undefined
  return { traceparent, ...(tracestate === undefined ? {} : { tracestate }) }
}

export const traceIdOf = ({ traceparent }: TraceContext): string => traceparent.slice(3, 35)
