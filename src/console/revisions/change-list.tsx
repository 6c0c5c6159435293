import { LongText } from '../text/long-text.tsx'
import { AgentMark, AgentText } from '../text/agent-text.tsx'
import { Digits } from '../text/digits.tsx'
import { type Change, type Path, splitText } from './changes.ts'

const WORDS = { added: 'added', removed: 'removed', changed: 'changed', moved: 'renamed' } as const

/** All changes, each with its place and both values. It reports omissions. */
export function ChangeList({
  changes,
  none,
}: {
  readonly changes: readonly Change[]
  readonly none: string
}) {
  if (changes.length === 0) return <p class="quiet">{none}</p>
  return (
    <ul class="diff">
      {changes.map((change, i) => (
        <li key={i} class={change.kind}>
          <small>{WORDS[change.kind]}</small>{' '}
          {change.kind === 'moved' && (
            <>
              <Place path={change.from} /> to{' '}
            </>
          )}
          <Place path={change.path} />
          <Values change={change} />
        </li>
      ))}
    </ul>
  )
}

/** The place of a change. Each name is a separate element, so that one name cannot look like two. */
function Place({ path }: { readonly path: Path }) {
  return (
    <span class="name">
      {path.map((name, i) => (
        <span key={i} class="step">
          <AgentText text={String(name)} />
        </span>
      ))}
    </span>
  )
}

function Values({ change }: { readonly change: Change }) {
  const { kind, before, after } = change
  if (kind === 'changed' && typeof before === 'string' && typeof after === 'string') {
    return <Texts before={before} after={after} />
  }
  return (
    <>
      {(kind === 'changed' || kind === 'removed') && (
        <del>
          <Whole value={before} />
        </del>
      )}
      {kind !== 'removed' && (
        <ins>
          <Whole value={after} />
        </ins>
      )}
    </>
  )
}

const Whole = ({ value }: { readonly value: unknown }) =>
  typeof value === 'number' ? <Digits of={textOf(value)} /> : <LongText text={textOf(value)} />

/** Characters to show of an unchanged beginning or end. Further characters are counted. */
const AROUND = 60

function Texts({ before, after }: { readonly before: string; readonly after: string }) {
  const { start, end, before: old, after: fresh } = splitText(before, after)
  return (
    <>
      <del>
        <Kept text={start} side="start" />
        <AgentMark text={old} />
        <Kept text={end} side="end" />
      </del>
      <ins>
        <Kept text={start} side="start" />
        <AgentMark text={fresh} />
        <Kept text={end} side="end" />
      </ins>
    </>
  )
}

function Kept({ text, side }: { readonly text: string; readonly side: 'start' | 'end' }) {
  const characters = Array.from(text)
  if (characters.length <= AROUND * 1.5) return <AgentText text={text} />
  const left = (
    <small class="left-out"> {(characters.length - AROUND).toLocaleString('en')} characters unchanged </small>
  )
  return side === 'start' ? (
    <>
      {left}
      <AgentText text={characters.slice(-AROUND).join('')} />
    </>
  ) : (
    <>
      <AgentText text={characters.slice(0, AROUND).join('')} />
      {left}
    </>
  )
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  return Object.is(value, -0) ? '-0' : JSON.stringify(value, null, 1)
}
