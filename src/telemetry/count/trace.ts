import type { Exemplar } from './instruments.ts'

/** Returns the trace of a W3C traceparent (version 00) as an exemplar. */
export function traceOf(traceparent: string | undefined): Exemplar | undefined {
  return traceparent === undefined ? undefined : { trace_id: traceparent.slice(3, 35) }
}
