import { ago, countdown } from './elapsed.ts'
import { now } from './clock.ts'

/** A live display of the time left. Its title is the exact time. */
export function Countdown({ deadline }: { readonly deadline: string }) {
  const { text, urgency } = countdown(Date.parse(deadline), now.value)
  return (
    <time class={`left ${urgency}`} dateTime={deadline} title={exact(deadline)}>
      {text}
    </time>
  )
}

export function Ago({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(Date.parse(at), now.value)}
    </time>
  )
}

export const exact = (at: string): string => new Date(at).toLocaleString()
