import { useEffect, useRef } from 'preact/hooks'
import { listen } from '../wire/stream.ts'

/** When a delivery that was just enqueued may have been made. Nobody asks for ever: that would keep a session alive. */
const LOOKS_MS = [700, 2_500, 8_000]

/** Reads again after what makes deliveries, or may have before the page was opened: changes of threads, and what is done on the page, which calls the answer. */
export function useFollowing(load: () => Promise<void>): () => void {
  const latest = useRef(load)
  latest.current = load
  const due = useRef<ReturnType<typeof setTimeout>[]>([])
  const forget = (): void => due.current.forEach(clearTimeout)
  const look = (): void => {
    forget()
    due.current = LOOKS_MS.map((ms) => setTimeout(() => void latest.current(), ms))
  }
  useEffect(() => {
    look()
    const leave = listen({ changed: look, stale: () => void latest.current() })
    return () => {
      leave()
      forget()
    }
  }, [])
  return look
}
