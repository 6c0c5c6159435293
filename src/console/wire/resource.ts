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
 * Only the answer to the latest request counts.
 */
export function useResource<T>(path: Address) {
  const read = useSignal<Read<T>>({})
  const asked = useRef(0)
  const load = async (): Promise<void> => {
    const mine = ++asked.current
    const answer = await get<T>(path)
    if (mine !== asked.current) return
    read.value = { body: read.value.body, ...answer } as Read<T>
  }
  useEffect(() => void load(), [path])
  return { ...read.value, load }
}
