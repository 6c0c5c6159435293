import { describe, expect, it } from 'vitest'
import { printThreadList } from '../../src/cli/client/print-thread.ts'
import type { Me } from '../../src/contract/session.ts'

const ann = { reviewer: 'ann', name: 'Ann Ash', groups: ['desk'] } as unknown as Me

describe('a list of threads on a terminal', () => {
  it('says that nothing waits', () => {
    expect(printThreadList({ threads: [] }, ann)).toBe('no thread waits for anybody')
  })

  it('names a thread that the store cannot read, and who says more', () => {
    expect(printThreadList({ threads: [], unreadable: ['thr_1'] }, ann)).toBe(
      'thr_1  cannot be read; `countersign store check` says more\n\nyou are Ann Ash (desk)',
    )
  })
})
