/** What the doctor says of one thing: that it is well, or what is wrong and what to do about it. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error'
  /** What was looked at. */
  readonly check: string
  readonly what: string
  readonly todo?: string
}

export const ok = (check: string, what: string): Finding => ({ level: 'ok', check, what })

export const warning = (check: string, what: string, todo: string): Finding => ({
  level: 'warning',
  check,
  what,
  todo,
})

export const error = (check: string, what: string, todo: string): Finding => ({
  level: 'error',
  check,
  what,
  todo,
})
