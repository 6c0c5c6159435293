/** The public API: the key that signs checkpoints, and health. */
import type { Operations } from '../operation.ts'

export const PUBLIC = {
  verifier_keys: {
    method: 'GET',
    path: '/.well-known/countersign/keys',
    access: 'public',
    summary: 'Read the key that signs checkpoints',
    answers: { 200: 'VerifierKeys' },
    refusals: [],
  },
  live: {
    method: 'GET',
    path: '/livez',
    access: 'public',
    admission: 'none',
    summary: 'Check that the process answers',
    answers: { 200: 'Liveness' },
    refusals: [],
  },
  ready: {
    method: 'GET',
    path: '/readyz',
    access: 'public',
    admission: 'none',
    summary: 'Check that store and policy can decide',
    answers: { 200: 'Readiness', 503: 'Readiness' },
    refusals: [],
  },
} as const satisfies Operations
