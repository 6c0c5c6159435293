import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import type { ThreadView } from '../../contract/reviewer.ts'
import { type Handlers, handleKeys } from '../keyboard/keyboard.ts'
import { leaveFrom, Loading } from '../list/list.tsx'
import { UndoRow } from '../outbox/undo-row.tsx'
import { RevealContext } from '../payload/payload-tree.tsx'
import { hashOf } from '../route/route.ts'
import { list } from '../route/router.ts'
import { PartsContext } from '../seen/part.tsx'
import { CALL, Heading } from '../shell/heading.tsx'
import { wide } from '../shell/preferences.ts'
import { Strip } from '../thread/call-strip.tsx'
import { Countdown } from '../time/countdown.tsx'
import { ProblemNote, ProblemState } from '../wire/problem.tsx'
import { listen } from '../wire/stream.ts'
import { type Acts, choose, chooseSeen, createActs, openOne, step } from './acts.ts'
import { Policy, Runs, Says, Sum } from './panels.tsx'
import { createSeveral, type Several } from './several-state.ts'
import { SeveralBar } from './several-bar.tsx'

export interface SeveralProps {
  /** One of the calls. */
  readonly id: string
  /** A call that is chosen from the start. */
  readonly first: string | undefined
  /** Runs after the votes. */
  readonly voted: (several: Several) => void
}

/** Calls that are alike, in one table. One act votes for those that the reviewer chose. */
export function SeveralPane({ id, first, voted }: SeveralProps) {
  const several = useMemo(() => createSeveral(id, first), [id])
  const acts = useMemo(() => createActs(several, () => voted(several)), [several])
  useReading(several, id)
  const [one] = several.shown.value
  const comments = one?.view.review.comments.length
  useLayoutEffect(() => handleKeys(keysOf(several, acts, id)), [acts, comments])
  useEffect(() => several.parts.watch(), [several])
  if (one === undefined) {
    const problem = several.problem.value
    return (
      <div class="pane call">
        {problem && <ProblemState problem={problem} retry={() => void several.load()} what="these calls" />}
        {!problem && <Nothing loading={several.loading.value} />}
        <UndoRow />
      </div>
    )
  }
  return (
    <PartsContext.Provider value={several.parts}>
      <RevealContext.Provider value={one.view.review.reveal === 'required'}>
        <article class="pane call" aria-labelledby={CALL}>
          <Strip view={one.view} until={<First several={several} />} />
          <Content several={several} view={one.view} />
          <UndoRow />
          <SeveralBar several={several} acts={acts} view={one.view} />
        </article>
      </RevealContext.Provider>
    </PartsContext.Provider>
  )
}

function Nothing({ loading }: { readonly loading: boolean }) {
  if (loading) return <Loading what="the calls" />
  return (
    <div class="state">
      <h2>None of these calls can be decided together any more.</h2>
      <p class="acts">
        <a class="button" href={hashOf(list)}>
          Back to the queue
        </a>
      </p>
    </div>
  )
}

function useReading(several: Several, id: string): void {
  useEffect(() => {
    leaveFrom(id)
    void several.load()
    return listen({
      changed: ({ thread }) => several.hear(thread.thread_id),
      stale: () => void several.load(),
    })
  }, [several])
}

function keysOf(several: Several, acts: Acts, id: string): Handlers {
  const saved = several.shown.value[0]?.view.review.comments ?? []
  return {
    ...Object.fromEntries(saved.map((_, i) => [`comment ${i + 1}`, () => acts.insert(i)])),
    next: () => step(several, id, 1),
    previous: () => step(several, id, -1),
    choose: () => choose(several),
    open: () => openOne(several),
    choose_all: () => chooseSeen(several),
    approve: () => acts.start('approve', true),
    page: several.parts.page,
    reject: () => acts.start('reject'),
    request_changes: () => acts.start('request_changes'),
    reveal: () => void several.revealAll(),
  }
}

interface OneProps {
  readonly several: Several
  /** The first call. All have its rules, tool and agent. */
  readonly view: ThreadView
}

function First({ several }: Pick<OneProps, 'several'>) {
  const [deadline] = several.shown.value.flatMap((one) => one.view.deadline ?? []).toSorted()
  if (deadline === undefined) return null
  return (
    <span>
      <span class="long-screen">first </span>
      <Countdown deadline={deadline} />
    </span>
  )
}

function Content({ several, view }: OneProps) {
  const shown = several.shown.value
  const table = several.table.value
  const count = shown.length
  const refused = shown.map(({ thread }) => thread.notice.value).find((one) => one?.kind === 'refused')
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="The calls">
      <div class="top">
        <Heading id={CALL} quiet={wide.value}>
          <Sum table={table} view={view} count={count} />
        </Heading>
        <p class="line quiet">Same tool, risk, agent and rules. Each vote is judged on its own.</p>
      </div>
      {refused?.kind === 'refused' && <ProblemNote problem={refused.problem} />}
      <div class="body one">
        <div>
          <Policy shown={shown} view={view} table={table} />
          <Runs several={several} table={table} />
          <Says shown={shown} table={table} />
        </div>
      </div>
    </div>
  )
}
