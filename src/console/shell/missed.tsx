import { useEffect, useRef } from 'preact/hooks'
import { signal } from '@preact/signals'
import type { Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'

const missed = signal<readonly Refusal[]>([])

/** Says, on whatever page is shown by now, that an act was refused whose page or dialog was left: nobody may take for done what was not. */
export function tellMissed(what: string, problem: Refusal): void {
  // who is signed out is told that
  if (problem.status !== 401)
    missed.value = [...missed.value, { ...problem, title: `${what}: ${problem.title}` }]
}

const forget = (one?: Refusal): void => {
  missed.value = one ? missed.value.filter((other) => other !== one) : []
}

export function Missed() {
  // the next to sign in here may be somebody else
  useEffect(() => forget, [])
  return missed.value.map((one) => <ProblemNote key={one} problem={one} seen={() => forget(one)} />)
}

/** Whether the component is gone. */
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
