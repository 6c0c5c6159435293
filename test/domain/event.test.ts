import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventKind } from '../../src/domain/event.ts'
import { TASK_ID } from '../../src/domain/id.ts'

const task = fc.stringMatching(TASK_ID)
const part = fc.stringMatching(/^[A-Za-z0-9_]{1,40}$/)

describe('event types', () => {
  it('revision.<task>.<thread> is a revision of that thread, even if the task has dots', () => {
    fc.assert(
      fc.property(task, part, (taskId, thread_id) => {
        expect(eventKind(`revision.${taskId}.${thread_id}`, taskId)).toEqual({ kind: 'revision', thread_id })
      }),
    )
  })

  it('a type that begins with `revision.` but has another form is malformed, never evidence', () => {
    fc.assert(
      fc.property(task, fc.string(), (taskId, rest) => {
        const { kind } = eventKind(`revision.${rest}`, taskId)
        const prefix = `${taskId}.`
        const fits =
          rest.startsWith(prefix) && /^[A-Za-z0-9_]+$/.test(rest.slice(prefix.length)) && !rest.endsWith('\n')
        expect(kind).toBe(fits ? 'revision' : 'malformed')
      }),
    )
  })

  it('every other type is evidence', () => {
    fc.assert(
      fc.property(task, fc.string(), (taskId, text) => {
        fc.pre(!text.startsWith('revision.'))
        expect(eventKind(text, taskId)).toEqual({ kind: 'evidence' })
      }),
    )
  })

  it.each([
    'revision.t.a\n',
    'revision.t.a b',
    'revision.t.',
    'revision.t',
    'revision..a',
    'revision.tt.a',
    'revision.t.a.b',
  ])('%j is malformed for the task t', (text) => {
    expect(eventKind(text, 't')).toEqual({ kind: 'malformed' })
  })
})
