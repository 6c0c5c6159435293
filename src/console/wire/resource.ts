import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { get, type Refusal } from './call.ts'
import type { Address } from './path.ts'

interface Read<T> {
  readonly body?: T
  readonly problem?: Refusal
}

/**
 * The answer from an address, which is read when a page opens. The old answer remains until the next answer arrives.
 * Only the answer to the latest request counts. A new version of the subject reads it again.
 */
export function useResource<T>(path: Address, version?: unknown) {
  const read = useSignal<Read<T>>({})
  const asked = useRef(0)
  const load = async (): Promise<void> => {
    const mine = ++asked.current
    const answer = await get<T>(path)
    if (mine !== asked.current) return
    read.value = { body: read.value.body, ...answer } as Read<T>
  }
  useEffect(() => void load(), [path, version])
  return { ...read.value, load }
}
