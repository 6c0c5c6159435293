/** A finding of the doctor, which is a healthy part or a problem with its remedy. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error'
  /** The part that was checked. */
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
