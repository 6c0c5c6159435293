import { useEffect, useRef } from 'preact/hooks'
import { listen } from '../wire/stream.ts'

/**
 * Times after an act at which the page looks for the delivery, ms. The list is short, because endless requests would
 * keep a session alive.
 */
const LOOKS_MS = [700, 2_500, 8_000]

/**
 * Reads again after changes of threads, and after acts of the page, which call the returned function. Both changes and
 * acts may create deliveries.
 */
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
