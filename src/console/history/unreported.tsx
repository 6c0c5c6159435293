import { useLayoutEffect } from 'preact/hooks'
import type { UnreportedList } from '../../contract/reviewer.ts'
import { createList } from '../list/list-state.ts'
import { List } from '../list/list.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'

type Call = UnreportedList['calls'][number]

const list = createList({
  items: ({ calls }: UnreportedList & { readonly next_cursor?: string }): readonly Call[] => calls,
  id: ({ task_id, action_hash, thread_id, allowed_at }) =>
    JSON.stringify([task_id, thread_id ?? action_hash, allowed_at]),
})
const load = (): void => void list.load('review/unreported-calls')

/** The allowed calls whose contract expects an outcome that never arrived. */
export function Unreported() {
  useLayoutEffect(load, [])
  return (
    <List
      state={list.state.value}
      label="Calls"
      row={(call) => <Row call={call} />}
      retry={load}
      empty={<h2>Agents reported every call whose outcome policy expects.</h2>}
    />
  )
}

const Row = ({ call: { tool_name, agent, task_id, thread_id, allowed_at } }: { readonly call: Call }) => (
  <li class="item">
    <span class="l1">
      {thread_id === undefined ? <b>{tool_name}</b> : <a href={`#/thread/${thread_id}`}>{tool_name}</a>}
      <span class="when">
        allowed <Ago at={allowed_at} />
      </span>
    </span>
    <span class="l2">
      <span class="why">
        task <AgentText text={task_id} />
      </span>
      <span class="side">{agent}</span>
    </span>
  </li>
)
