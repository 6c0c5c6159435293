import { STORE_LIMITS } from './store.ts'
import type { Claim, Commit, Guard, RangeBounds, Write } from './store.ts'

/*
 * Checks the arguments of a call before it is queued, so that a bad call cannot affect another call (S16). Every check
 * throws a TypeError (wrong kind) or a RangeError (too long, too large) that names the argument.
 */

export function checkPartition(partition: string): void {
  checkText('partition', partition, STORE_LIMITS.partitionLength)
}

export function checkRecordName(type: string, id: string): void {
  checkText('type', type, STORE_LIMITS.nameLength)
  checkText('id', id, STORE_LIMITS.idLength)
}

export function checkRange(index: string, bounds: RangeBounds): void {
  checkText('index', index, STORE_LIMITS.nameLength)
  checkCount('limit', bounds.limit)
  if (Number.isNaN(bounds.min) || Number.isNaN(bounds.max)) throw new RangeError('a bound must be a number')
  if (bounds.after !== undefined) checkEntry(bounds.after.member, bounds.after.score)
}

export function checkIndex(index: string): void {
  checkText('index', index, STORE_LIMITS.nameLength)
}

export function checkClaim(index: string, claim: Claim): void {
  checkText('index', index, STORE_LIMITS.nameLength)
  checkCount('limit', claim.limit)
  checkScore('now', claim.now)
  if (!(claim.lease > 0)) throw new RangeError('lease must be more than 0 ms')
  checkScore('now + lease', claim.now + claim.lease)
}

/** Returns the total length of all bodies, events and disclosures. */
export function checkCommit(partition: string, commit: Commit): number {
  checkPartition(partition)
  checkLine('commitId', commit.commitId)
  if (Number.isNaN(commit.deadline)) throw new RangeError('deadline must be a number')
  if (commit.guards.length + commit.writes.length + commit.events.length > STORE_LIMITS.commitParts)
    throw new RangeError(`a commit has at most ${STORE_LIMITS.commitParts} guards, writes and events`)
  for (const guard of commit.guards) checkGuard(guard)
  let length = 0
  for (const write of commit.writes) length += checkWrite(write)
  for (const event of commit.events) length += checkBody('event', event)
  length += checkDisclosures(commit)
  if (length > STORE_LIMITS.commitLength)
    throw new RangeError(`a commit holds at most ${STORE_LIMITS.commitLength} characters`)
  return length
}

function checkDisclosures({ events, disclosures = [] }: Commit): number {
  if (disclosures.length > events.length)
    throw new RangeError('a commit has disclosures of an event that it lacks')
  let length = 0
  for (const text of disclosures) if (text !== undefined) length += checkBody('disclosures', text)
  return length
}

function checkGuard(guard: Guard): void {
  if ('epoch' in guard) {
    checkText('epoch', guard.epoch, STORE_LIMITS.idLength)
  } else if ('limit' in guard) {
    checkLimit(guard.limit, guard.windowMs)
    checkCount('amount', guard.amount)
    checkCount('atMost', guard.atMost)
    if (guard.share !== undefined) checkLimit(guard.share, guard.windowMs)
  } else {
    checkRecordName(guard.type, guard.id)
    checkCount('revision', guard.revision)
    if (guard.commitId !== undefined) checkLine('commitId', guard.commitId)
  }
}

export function checkLimit(limit: string, windowMs: number): void {
  checkText('limit', limit, STORE_LIMITS.idLength)
  if (!Number.isSafeInteger(windowMs) || windowMs < 1 || windowMs > STORE_LIMITS.windowMs)
    throw new RangeError(`windowMs must be a whole number from 1 to ${STORE_LIMITS.windowMs}`)
}

export function checkCount(name: string, count: number): void {
  if (!Number.isSafeInteger(count) || count < 0)
    throw new RangeError(`${name} must be a whole number, 0 or more`)
}

function checkWrite(write: Write): number {
  switch (write.op) {
    case 'put':
      checkRecordName(write.type, write.id)
      return checkBody('body', write.body)
    case 'delete':
      checkRecordName(write.type, write.id)
      return 0
    case 'index':
      checkText('index', write.index, STORE_LIMITS.nameLength)
      checkEntry(write.member, write.to ?? 0)
      return 0
    case 'mark':
      checkText('index', write.index, STORE_LIMITS.nameLength)
      return 0
    case 'drop':
      checkText('index', write.index, STORE_LIMITS.nameLength)
      checkScore('upTo', write.upTo)
      return 0
    case 'forget':
      checkCount('number', write.number)
      return 0
    case 'trim':
      checkCount('before', write.before)
      return 0
    case 'charge':
      checkLimit(write.limit, write.windowMs)
      checkScore('at', write.at)
      if (!Number.isSafeInteger(write.amount)) throw new RangeError('amount must be a whole number')
      return 0
    default:
      throw new TypeError(`unknown write: ${String((write satisfies never as { op: unknown }).op)}`)
  }
}

function checkEntry(member: string, score: number): void {
  checkText('member', member, STORE_LIMITS.idLength)
  checkScore('score', score)
}

function checkScore(name: string, score: number): void {
  if (!Number.isFinite(score)) throw new RangeError(`${name} must be a finite number`)
}

function checkText(name: string, text: string, longest: number): void {
  if (typeof text !== 'string') throw new TypeError(`${name} must be a string`)
  if (text.length > longest) throw new RangeError(`${name} is longer than ${longest} characters`)
}

function checkBody(name: string, body: string): number {
  if (typeof body !== 'string') throw new TypeError(`${name} must be a string`)
  if (!body.isWellFormed()) throw new TypeError(`${name} holds a lone surrogate`)
  return body.length
}

function checkLine(name: string, text: string): void {
  checkText(name, text, STORE_LIMITS.commitIdLength)
  if (text.length === 0 || text.includes('\n') || !text.isWellFormed())
    throw new TypeError(`${name} must be one line of text`)
}
