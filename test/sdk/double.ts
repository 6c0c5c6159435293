import { createGate, type GateOptions } from '@countersign/sdk'

type Route =
  | 'resolve'
  | 'requests'
  | 'decisions'
  | 'proofs'
  | 'validate'
  | 'events'
  | 'outcomes'
  | 'withdrawals'
export type Script = Partial<Record<Route, (honest: object, tries: number) => Response | object>>

const TOOL = { name: 'pay', description: '', input_schema: { type: 'object' }, risk: 'low', revision: 'r' }
export const THREAD = 'thr_1'

/** A refusal as the gateway words it. */
export const problem = (status: number, code: string, detail: string): Response =>
  new Response(
    JSON.stringify({ type: `urn:countersign:error:${code}`, status, code, title: detail, detail }),
    {
      status,
      headers: { 'content-type': 'application/problem+json' },
    },
  )

/** Holds each call, approves it at the first poll and redeems its proof. The script replaces some of these answers. */
export function gateBefore(
  script: Script,
  first: object = { status: 'pending_review', thread_id: THREAD },
  options: Partial<GateOptions> = {},
) {
  const asked: Route[] = []
  const said: { outcome?: string }[] = []
  const withdrawn: object[] = []
  /** The last body of each route. */
  const sent: Partial<Record<Route, object>> = {}
  let action_hash: unknown
  const gate = createGate({
    url: 'http://127.0.0.1:1',
    key: 'csk_test',
    taskId: 't',
    maxWaitMs: 5_000,
    ...options,
    fetch: async (url, { body }) => {
      const route = /resolve|requests|decisions|proofs|validate|events|outcomes|withdrawals/.exec(
        url,
      )?.[0] as Route
      const given = JSON.parse((body as string | undefined) ?? '{}') as Record<string, unknown>
      sent[route] = given
      if (route === 'requests') ({ action_hash } = given)
      if (route === 'outcomes') said.push(given)
      if (route === 'withdrawals') withdrawn.push(given)
      const about = { task_id: 't', thread_id: THREAD, action_hash }
      const honest = {
        resolve: { tools: [TOOL], unknown: [] },
        requests: { task_id: 't', action_hash, ...first },
        decisions: { ...about, status: 'approved', approval_token: 'cst_x' },
        proofs: { ...about, status: 'approved', approval_token: 'cst_y' },
        validate: { ...about, valid: true },
        events: { event_id: 'e', recorded_at: '' },
        outcomes: { task_id: 't', action_hash, run: '1', outcome: given['outcome'], recorded_at: '' },
        withdrawals: { ...about, status: 'rejected' },
      }[route]
      const tries = asked.filter((one) => one === route).length
      asked.push(route)
      const answer = script[route]?.(honest, tries) ?? honest
      if (answer instanceof Response) return answer
      return Response.json(answer, { status: route === 'events' || route === 'outcomes' ? 201 : 200 })
    },
  })
  return { gate, asked, said, withdrawn, sent }
}
