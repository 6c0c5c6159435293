import type { ThreadView } from '../../contract/reviewer.ts'
import { PayloadTree } from '../payload/payload-tree.tsx'
import { formattedIn } from '../../domain/heading.ts'
import { Part } from '../seen/part.tsx'
import { Panel } from '../shell/panel.tsx'
import { AgentMark, AgentSpan, AgentText } from '../text/agent-text.tsx'
import { payloadPlace, placeName, STATES } from '../text/because-text.ts'
import { LongText } from '../text/long-text.tsx'
import { RuleLink } from '../thread/assessment.tsx'
import { CallsTable } from './calls-table.tsx'
import { chooseSeen } from './acts.ts'
import { reasonsOf, type Several, type Shown } from './several-state.ts'
import type { Table } from './table.ts'

interface SumProps {
  readonly table: Table
  readonly view: ThreadView
  readonly count: number
}

/** The calls in one line, with the numbers that made a rule fire, or else the first numbers. */
export function Sum({ table, view, count }: SumProps) {
  const numbers = table.columns.filter(({ numeric }) => numeric)
  const main = numbers.find(({ decides }) => decides) ?? numbers[0]
  const texts = main?.cells.map(({ node }) => node?.text ?? '').toSorted((a, b) => Number(a) - Number(b))
  return (
    <span class="does">
      <b>
        {count} {count === 1 ? 'call' : 'calls'}
      </b>{' '}
      of {view.tool_name} by {view.agent}
      {main && texts && (
        <>
          , <AgentText text={main.name} /> <b>{main.written?.[0] ?? texts[0]}</b> to{' '}
          <b>{main.written?.[1] ?? texts.at(-1)}</b>, sum <b>{main.written?.[2] ?? main.sum}</b>
        </>
      )}
    </span>
  )
}

interface PolicyProps {
  readonly shown: readonly Shown[]
  readonly view: ThreadView
  readonly table: Table
}

export function Policy({ shown, view, table }: PolicyProps) {
  const enforced = view.rules.filter(({ mode }) => mode === 'enforced')
  return (
    <Panel
      title="What policy says"
      kind="policy"
      note={
        <span class="tools">
          {[view.reversibility ?? [], view.labels].flat().map((label) => (
            <span key={label} class="tag">
              {label}
            </span>
          ))}
        </span>
      }
    >
      <ul class="rules">
        {enforced.map((rule) => (
          <li key={rule.id}>
            <Part name={`rule ${rule.id}`}>
              <span class={`verdict ${rule.verdict}`}>{rule.verdict}</span> {rule.reason}
              {rule.unknown && <span class="tag warn">could not be checked</span>}
              {fieldsOf(shown, rule.id).map((field) => (
                <Values key={field} field={field} shown={shown} table={table} />
              ))}{' '}
              <RuleLink rule={rule} />
            </Part>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** The fields whose values made the rule fire in any of the calls. */
const fieldsOf = (shown: readonly Shown[], rule: string): string[] => [
  ...new Set(
    shown.flatMap(({ view }) =>
      view.rules
        .filter(({ id }) => id === rule)
        .flatMap(({ because = [] }) => because.map(({ field }) => field)),
    ),
  ),
]

interface ValuesProps {
  readonly field: string
  readonly shown: readonly Shown[]
  readonly table: Table
}

/** The values of the calls in a place that made a rule fire. The table marks those of a column. */
function Values({ field, shown, table }: ValuesProps) {
  const texts = shown.flatMap(({ view }) =>
    reasonsOf(view)
      .filter((one) => one.field === field)
      .slice(0, 1)
      .map((one) =>
        one.state
          ? STATES[one.state]
          : one.hidden
            ? 'hidden'
            : (formattedIn(view.heading, one) ?? String(one.value)),
      ),
  )
  const column = table.columns.find(({ place }) => place === field)
  const different = [...new Set(texts)]
  const few = !column || different.length === 1
  const sorted = column?.numeric
    ? (column.written ?? different.toSorted((a, b) => Number(a) - Number(b)))
    : []
  const [least, most] = column?.written ?? [sorted[0], sorted.at(-1)]
  return (
    <p class="because">
      <AgentSpan kind="name" text={placeName(field)} />{' '}
      <span class="value">
        {few ? (
          <AgentMark text={different.join(', ')} />
        ) : sorted.length > 0 ? (
          <AgentMark text={`${least} to ${most}`} />
        ) : (
          <mark>{different.length} different</mark>
        )}{' '}
        <span class="plain-part">
          {texts.length === shown.length ? `in all ${shown.length}` : `in ${texts.length} of ${shown.length}`}
        </span>
      </span>
    </p>
  )
}

export function Runs({ several, table }: { readonly several: Several; readonly table: Table }) {
  const count = several.shown.value.length
  const hidden = several.hidden.value
  const seen = several.shown.value.filter(({ view }) => several.isSeen(view.thread_id)).length
  const gone = several.gone.value
  return (
    <Panel
      title={`What runs, ${count} ${count === 1 ? 'time' : 'times'}`}
      kind="payload"
      note={
        hidden > 0 && (
          <button class="small" onClick={() => void several.revealAll()}>
            Reveal {hidden} hidden {hidden === 1 ? 'value' : 'values'} <kbd aria-hidden="true">v</kbd>
          </button>
        )
      }
    >
      {table.same.length > 0 && (
        <div class="same">
          <span class="quiet">The same in all:</span>
          {table.same.map((node) => (
            <Part key={node.pointer} name={payloadPlace([node.name ?? ''])}>
              <AgentSpan kind="name" text={String(node.name)} /> <PayloadTree node={node} />
            </Part>
          ))}
        </div>
      )}
      <CallsTable several={several} />
      <p class="small quiet">
        <button class="link-like" disabled={seen === 0} onClick={() => chooseSeen(several)}>
          Choose the {seen} that were seen
        </button>
        .{' '}
        <span class="long-screen">
          <kbd>x</kbd> chooses a row, <kbd>X</kbd> all seen.
        </span>
        {gone > 0 &&
          ` ${gone} ${gone === 1 ? 'call has' : 'calls have'} left the table: decided, revised, or with a warning.`}
      </p>
    </Panel>
  )
}

/** The agent's own words. */
export function Says({ shown, table }: Omit<PolicyProps, 'view'>) {
  const words = shown.map(({ view }) =>
    [view.subject, view.preview, ...(view.summary ?? [])].flatMap((one) => one || []),
  )
  if (words.every(({ length }) => length === 0)) return null
  const same = words.every((one) => one.join('\n') === words[0]?.join('\n'))
  return (
    <Panel title="What the agent says" kind="claims" note={<span class="tag">not checked</span>}>
      {(same ? words.slice(0, 1) : words).map((lines, i) => (
        <p key={i}>
          {!same && (
            <b>
              <AgentText text={table.names[i] ?? ''} />:{' '}
            </b>
          )}
          {lines.map((line, j) => (
            <q key={j}>
              <LongText text={line} />
            </q>
          ))}
          {same && <span class="quiet"> in all {shown.length}</span>}
        </p>
      ))}
    </Panel>
  )
}
