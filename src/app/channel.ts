import type { Observation } from '../gateway/core/deps.ts'

type Listener = (observation: Observation) => void

/** The channel on which verbs publish their observations. The parts of the gateway subscribe as they open. */
export interface Channel {
  publish(observation: Observation): void
  /** Adds a listener, which must not throw. Listeners receive each observation in the order of their subscription. */
  subscribe(listener: Listener): void
}

export function createChannel(): Channel {
  const listeners: Listener[] = []
  return {
    publish(observation) {
      for (const listener of listeners) listener(observation)
    },
    subscribe: (listener) => void listeners.push(listener),
  }
}
