import { describe, expect, it } from 'vitest'
import { publicReason } from '../../../src/gateway/core/write-refusal.ts'

describe('explain in public words why the store refused a write', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'it is out of memory'],
    ["READONLY You can't write against a read only replica.", 'it is read-only'],
    ['NOREPLICAS Not enough good replicas to write.', 'too few replicas follow it'],
    ['MISCONF Redis is configured to save RDB snapshots', 'it cannot save to its disk'],
    ['the disk is nearly full: 1024 bytes are free, and 67108864 are needed', 'its disk is nearly full'],
    ['connect ECONNREFUSED 10.1.2.3:6379', undefined],
  ])('%s', (said, words) => {
    expect(publicReason(new Error(`redis: ${said}`))).toBe(words)
    expect(publicReason(new Error('no', { cause: new Error(said) }))).toBe(words)
  })

  it('are undefined without an error', () => {
    expect(publicReason('OOM')).toBeUndefined()
    expect(publicReason(undefined)).toBeUndefined()
  })
})
