import { afterAll } from 'vitest'
import { endTestStore } from './test-store.ts'

/** Runs with each test file: none finds what another left in Redis. */
afterAll(endTestStore)
