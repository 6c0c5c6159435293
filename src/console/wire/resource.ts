import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get, type Refusal } from './call.ts'

interface Read<T> {
  readonly body?: T
  readonly problem?: Refusal
}

/** What an address answers, read when a page opens. What is there stays until the next answer comes. */
export function useResource<T>(path: string) {
  const read = useSignal<Read<T>>({})
  const load = async (): Promise<void> => {
    const answer = await get<T>(path)
    read.value = answer.ok ? answer : ({ body: read.value.body, problem: answer.problem } as Read<T>)
  }
  useEffect(() => void load(), [path])
  return { ...read.value, load }
}
