import { useEffect, useRef } from 'preact/hooks'
import { signal } from '@preact/signals'
import type { Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'

const missed = signal<readonly Refusal[]>([])

/** Reports a refused act on the page that is now open, because the reviewer left the page or dialog of the act. */
export function tellMissed(what: string, problem: Refusal): void {
  // a signed-out reviewer sees the sign-in page instead
  if (problem.status !== 401)
    missed.value = [...missed.value, { ...problem, title: `${what}: ${problem.title}` }]
}

const forget = (one?: Refusal): void => {
  missed.value = one ? missed.value.filter((other) => other !== one) : []
}

export function Missed() {
  // another reviewer may sign in here next
  useEffect(() => forget, [])
  return missed.value.map((one) => <ProblemNote key={one} problem={one} seen={() => forget(one)} />)
}

/** True when the component was removed. */
export function useLeft(): { readonly current: boolean } {
  const left = useRef(false)
  useEffect(
    () => () => {
      left.current = true
    },
    [],
  )
  return left
}
