import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import type { DeliveryView, WebhookView } from '../../../src/contract/webhook.ts'
import { type EvidenceLine, HOUR, MINUTE, SECOND } from '../../gateway-fixture.ts'
import type { Got } from '../../webhooks/receiver.ts'
import { compareBody, Events, keyOf, pinged, type Proposed, type Told } from './events.ts'

/**
 * Webhooks, written a second time in plain state, from docs/webhooks.md and docs/decisions/0015.
 * `model.test.ts` compares it with gateways and receivers.
 * The evidence says what happened, in order; receivers report their deliveries and replies.
 * The model derives from both the contents of every list.
 */

const PAUSES = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
const DAY = 24 * HOUR
const KEPT: Readonly<Record<string, number>> = { delivered: DAY, dead: 7 * DAY }
const FAILING = 120 * HOUR

/** A receiver's answer to one try. */
export interface Reply {
  /** Undefined when the receiver hung or cut off. */
  readonly status?: number
  readonly retryAfterMs?: number
}

export interface Hit {
  readonly destination: string
  readonly got: Got
  readonly reply: Reply
  readonly at: number
}

export interface Delivery {
  told: Told
  /** Known as soon as a list has shown it. */
  id?: string
  /** A try has shown which event the delivery carries. */
  isKnown?: boolean
  raw?: string
  state: DeliveryView['state']
  attempts: number
  /** The moments between which the next try is due. */
  due: readonly [number, number]
  last?: { readonly at: number; readonly reply: Reply }
}

export interface Destination {
  readonly id: string
  readonly tenant: string
  readonly events?: readonly string[]
  readonly full: boolean
  secrets: { readonly secret: string; readonly until: number }[]
  state: WebhookView['state']
  /** A delivery may arrive in this round, although the destination is not active at its end. */
  wasActive: boolean
  failingSince?: number
  deliveries: Delivery[]
}

export type Created = Pick<Destination, 'id' | 'tenant' | 'full' | 'events'> & { readonly secret: string }

/** The outcomes that a round has to leave in the evidence. */
interface Ends {
  readonly settled: string[]
  readonly gone: Set<string>
  readonly failing: Set<string>
}

export class WebhookModel {
  readonly destinations = new Map<string, Destination>()
  readonly deleted = new Set<string>()
  readonly seen: Set<string>
  readonly #now: () => number
  readonly #events = new Map<string, Events>()
  readonly #proposed: ReadonlyMap<string, Proposed>
  #claimed: Ends = noEnds()
  #foreseen: Ends = noEnds()
  #wasPaused = new Set<string>()

  constructor(now: () => number, proposed: ReadonlyMap<string, Proposed>, seen: Set<string>) {
    this.#now = now
    this.#proposed = proposed
    this.seen = seen
  }

  /** Destinations from the answers to the administrator; the evidence says when each of them begins. */
  readonly created = new Map<string, Created>()

  rotated(id: string, secret: string, overlapMs: number): void {
    const one = this.destinations.get(id) ?? expect.fail()
    const [before] = one.secrets
    const kept =
      before === undefined || overlapMs === 0 ? [] : [{ ...before, until: this.#now() + overlapMs }]
    one.secrets = [{ secret, until: Infinity }, ...kept]
  }

  secretsOf(one: Destination): string[] {
    return one.secrets.filter(({ until }) => this.#now() < until).map(({ secret }) => secret)
  }

  /** Begins a round, in which nothing is under way yet. */
  begin(): void {
    this.#claimed = noEnds()
    this.#foreseen = noEnds()
    this.#wasPaused = new Set()
    for (const one of this.destinations.values()) one.wasActive = one.state === 'active'
  }

  // the evidence

  learn(line: EvidenceLine): void {
    const { tenant, type } = line.record
    const events = this.#events.get(tenant) ?? new Events(this.#proposed)
    this.#events.set(tenant, events)
    const told = events.of(line)
    if (told !== undefined) this.#tell(tenant, told)
    else if (type.startsWith('webhook.')) this.#act(line)
  }

  #tell(tenant: string, told: Told): void {
    for (const one of this.destinations.values()) {
      if (one.tenant !== tenant || one.state === 'gone') continue
      if (one.events === undefined || one.events.includes(told.type)) this.#enqueue(one, told)
    }
  }

  #enqueue(one: Destination, told: Told): void {
    const at = Date.parse(told.at)
    one.deliveries.push({ told, state: 'waiting', attempts: 0, due: [at, at] })
    if (one.state !== 'active') this.seen.add(`told while ${one.state}`)
  }

  #act(line: EvidenceLine): void {
    const { type, details = {}, at } = line.record
    const id = String(details['webhook'] ?? details['id'])
    if (type === 'webhook.created') return this.#begins(id)
    if (type === 'webhook.delivered' || type === 'webhook.given_up') {
      const state = type === 'webhook.delivered' ? 'delivered' : 'dead'
      this.#claimed.settled.push(`${String(details['delivery'])} ${state} ${String(details['attempts'])}`)
      return
    }
    const one = this.destinations.get(id) ?? expect.fail(`${type} of ${id}`)
    const acts: Readonly<Record<string, () => void>> = {
      'webhook.paused': () => this.#paused(one, String(details['reason'])),
      'webhook.resumed': () => {
        one.state = 'active'
        one.wasActive = true
        delete one.failingSince
      },
      'webhook.deleted': () => {
        this.destinations.delete(id)
        this.deleted.add(id)
      },
      'webhook.pinged': () => this.#enqueue(one, pinged(line)),
      'webhook.redelivered': () => this.#again(one, String(details['delivery']), Date.parse(at)),
    }
    acts[type]?.()
  }

  #begins(id: string): void {
    const { secret, ...created } = this.created.get(id) ?? expect.fail()
    const secrets = [{ secret, until: Infinity }]
    this.destinations.set(id, { ...created, secrets, state: 'active', wasActive: true, deliveries: [] })
  }

  #paused(one: Destination, reason: string): void {
    if (reason === 'gone' || reason === 'failing') this.#claimed[reason].add(one.id)
    else this.#wasPaused.add(one.id)
    // a gone destination stays gone until an administrator resumes it
    if (one.state === 'gone') this.seen.add('paused when gone')
    else one.state = reason === 'admin' ? 'paused' : (reason as 'gone' | 'failing')
  }

  #again(one: Destination, id: string, at: number): void {
    const delivery = deliveryOf(one, id)
    this.seen.add(`again ${delivery.state}`)
    delivery.state = 'waiting'
    delivery.attempts = 0
    delivery.due = [at, at]
  }

  // lists and receivers

  /** Matches each listed delivery with an expected event; fails when one of either is left over. */
  link(one: Destination, views: readonly DeliveryView[]): void {
    for (const view of views) {
      if (one.deliveries.some(({ id }) => id === view.id)) continue
      const told = one.deliveries.find(
        ({ id, told: { type, thread, at } }) =>
          id === undefined && type === view.type && thread === view.thread_id && at === view.created_at,
      )
      if (told === undefined) expect.fail(`${one.id} is told what nobody expects: ${JSON.stringify(view)}`)
      told.id = view.id
    }
    const missing = one.deliveries.filter(({ id }) => id === undefined)
    expect(
      missing.map(({ told }) => told.key),
      `${one.id} is not told of`,
    ).toEqual([])
  }

  /** Takes a try that the gateway noted, or may not have noted. */
  hit({ destination, got, reply, at }: Hit, isNoted: boolean): void {
    const one = this.destinations.get(destination) ?? expect.fail()
    const delivery = deliveryOf(one, got.body.id)
    expect(one.wasActive, `nothing is sent to ${one.id}, which is ${one.state}`).toBe(true)
    this.#compare(one, delivery, got)
    if (!isNoted) return void this.seen.add('not noted')
    expect(delivery.state).toBe('waiting')
    expect(at, `${got.body.id} not before its time: ${JSON.stringify(delivery)}`).toBeGreaterThanOrEqual(
      delivery.due[0],
    )
    delivery.attempts += 1
    delivery.last = { at, reply }
    this.#settle(delivery, reply)
    this.#healthAfter(one, reply)
  }

  #compare(one: Destination, delivery: Delivery, got: Got): void {
    const key = keyOf(got)
    if (delivery.isKnown !== true && key !== undefined && key !== delivery.told.key) {
      const other = one.deliveries.find(({ told }) => told.key === key) ?? expect.fail(`${key} to ${one.id}`)
      expect(other.isKnown, `one event has one id: ${key}`).toBeUndefined()
      const { told } = delivery
      delivery.told = other.told
      other.told = told
    }
    delivery.isKnown = true
    compareBody(got, delivery.told, one.full)
    delivery.raw ??= got.raw
    expect(got.raw, 'the same bytes on every try').toBe(delivery.raw)
    if (one.full && delivery.told.payload?.['secret'] !== undefined) this.seen.add('hidden value')
    this.#verify(one, got)
    this.seen.add(delivery.told.type)
  }

  #verify(one: Destination, { headers, raw, body }: Got): void {
    const secrets = this.secretsOf(one)
    const guards = secrets.map((secret) => `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`)
    expect([headers['x-guard-signature'], headers['x-guard-signature-previous']]).toEqual([
      guards[0],
      guards[1],
    ])
    const seconds = String(Math.floor(this.#now() / SECOND))
    expect([headers['webhook-id'], headers['webhook-timestamp']]).toEqual([body.id, seconds])
    const standard = secrets.map((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${body.id}.${seconds}.${raw}`).digest('base64')}`
    })
    expect(headers['webhook-signature']).toBe(standard.join(' '))
    if (secrets.length === 2) this.seen.add('two signatures')
  }

  #settle(delivery: Delivery, { status = 0, retryAfterMs = 0 }: Reply): void {
    const { attempts, id = '' } = delivery
    const pause = PAUSES[attempts - 1]
    const isGood = status >= 200 && status < 300
    if (isGood || status === 410 || pause === undefined) {
      delivery.state = isGood ? 'delivered' : 'dead'
      this.#foreseen.settled.push(`${id} ${delivery.state} ${attempts}`)
      this.seen.add(`${delivery.state} after ${attempts === 1 ? 'one' : attempts < 10 ? 'some' : 'ten'}`)
      return
    }
    const now = this.#now()
    const wish = Math.min(retryAfterMs, DAY)
    if (wish > pause * 1.2) this.seen.add(wish === DAY ? 'a long wish' : 'a wish')
    delivery.due = [now + Math.max(pause, wish), now + Math.max(Math.ceil(pause * 1.2), wish)]
    this.seen.add(status === 0 ? 'no answer' : `answer ${status}`)
  }

  #healthAfter(one: Destination, { status = 0 }: Reply): void {
    const now = this.#now()
    if (status === 410) this.#foreseen.gone.add(one.id)
    else if (status >= 200 && status < 300) delete one.failingSince
    else {
      one.failingSince ??= now
      if (now - one.failingSince >= FAILING) this.#foreseen.failing.add(one.id)
    }
  }

  /** The evidence has each outcome of the tries of this round once, and no other outcome. */
  compareEnds(): void {
    const { settled, gone, failing } = this.#claimed
    const lives = (line: string): boolean => this.#stillThere(line.split(' ', 1)[0] ?? '')
    expect(settled.filter(lives).toSorted()).toEqual(this.#foreseen.settled.toSorted())
    const there = (ids: ReadonlySet<string>): string[] =>
      [...ids].filter((id) => this.destinations.has(id)).toSorted()
    expect(there(gone)).toEqual(there(this.#foreseen.gone))
    // a destination that an administrator paused meanwhile is not paused again
    const free = (ids: ReadonlySet<string>): string[] => there(ids).filter((id) => !this.#wasPaused.has(id))
    expect(free(failing)).toEqual(
      free(this.#foreseen.failing).filter((id) => !gone.has(id) || failing.has(id)),
    )
    for (const id of gone) this.seen.add(this.destinations.has(id) ? 'gone' : 'gone and deleted')
    if (failing.size > 0) this.seen.add('failing')
  }

  #stillThere(delivery: string): boolean {
    return [...this.destinations.values()].some(({ deliveries }) =>
      deliveries.some(({ id }) => id === delivery),
    )
  }

  /** `sweptAt`: when the timer last had nothing left to do. */
  compare(one: Destination, view: WebhookView, views: readonly DeliveryView[], sweptAt: number): void {
    const { state, failingSince } = one
    expect(
      { state: view.state, failing_since: view.failing_since, secrets: view.secrets, tenant: view.tenant },
      one.id,
    ).toEqual({
      state,
      failing_since: failingSince === undefined ? undefined : new Date(failingSince).toISOString(),
      secrets: this.secretsOf(one).length,
      tenant: one.tenant,
    })
    const byId = new Map(views.map((each) => [each.id, each]))
    expect(byId.size, 'each is listed once').toBe(views.length)
    one.deliveries = one.deliveries.filter((delivery) => {
      const shown = byId.get(delivery.id ?? '')
      const until = (delivery.last?.at ?? 0) + (KEPT[delivery.state] ?? Infinity)
      expect(shown === undefined ? until <= this.#now() : sweptAt < until, JSON.stringify(delivery)).toBe(
        true,
      )
      if (shown === undefined) this.seen.add(`forgotten ${delivery.state}`)
      else compareDelivery(delivery, shown)
      return shown !== undefined
    })
    expect(view.waiting).toBe(views.filter((each) => each.state === 'waiting').length)
  }
}

function compareDelivery({ state, attempts, last, due, told }: Delivery, shown: DeliveryView): void {
  const what = JSON.stringify({ shown, told: told.key })
  expect([shown.state, shown.attempts, shown.created_at], what).toEqual([state, attempts, told.at])
  expect(shown.last?.at, what).toBe(last === undefined ? undefined : new Date(last.at).toISOString())
  const status = last?.reply.status
  if (status !== undefined) expect(shown.last?.result, what).toBe(String(status))
  else if (last !== undefined) expect(shown.last?.result, what).not.toMatch(/^\d/)
  if (state !== 'waiting' || attempts === 0) {
    expect(shown.next_at, what).toBeUndefined()
    return
  }
  const next = Date.parse(shown.next_at ?? '')
  expect(next, what).toBeGreaterThanOrEqual(due[0])
  expect(next, what).toBeLessThanOrEqual(due[1])
}

function deliveryOf({ id: destination, deliveries }: Destination, id: string): Delivery {
  return deliveries.find((one) => one.id === id) ?? expect.fail(`${destination} has no delivery ${id}`)
}

const noEnds = (): Ends => ({ settled: [], gone: new Set(), failing: new Set() })
