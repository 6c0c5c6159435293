import type {
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
  preHandlerHookHandler,
} from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import type { Access, Operation } from '../../contract/operation.ts'
import { adminEntry } from '../../gateway/auth/administrator.ts'
import { reviewerEntry } from '../../gateway/auth/standing.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { ErrorHandler } from '../core/problem.ts'
import { rightOf } from './admin-right.ts'
import { authenticateAgent, deadKeyFirst, decideTogether } from './agent.ts'
import { isAttended, reviewerOf } from './auth.ts'
import { requireSameOrigin } from '../core/same-origin.ts'

/** Hooks that run before a handler and admit the kinds of callers that the operation lists. */
export interface AccessHooks {
  readonly onRequest: (onRequestHookHandler | onRequestAsyncHookHandler)[]
  readonly preHandler: preHandlerHookHandler[]
  readonly errorHandler?: ErrorHandler
}

export const accessHooks = (http: HttpDeps, operation: Operation): AccessHooks =>
  HOOKS[operation.access](http, operation)

const HOOKS: Readonly<Record<Access, (http: HttpDeps, operation: Operation) => AccessHooks>> = {
  agent: (http) => ({
    onRequest: [authenticateAgent(http)],
    preHandler: [decideTogether],
    errorHandler: deadKeyFirst(http),
  }),
  reviewer: (http, { unattended = false }) => ({
    onRequest: [
      async (request: FastifyRequest) => {
        request.caller = await reviewerOf(request, http, !unattended && isAttended(request))
      },
    ],
    preHandler: [],
  }),
  admin: (http) => ({ onRequest: [rightHook(http, adminEntry)], preHandler: [] }),
  adminKey: (http) => ({ onRequest: [rightHook(http, adminEntry)], preHandler: [requireAdminKey] }),
  adminOrReviewer: (http) => ({ onRequest: [rightHook(http, reviewerEntry)], preHandler: [] }),
  page: ({ site }) => ({
    onRequest: [
      (request, _, done) => {
        requireSameOrigin(request, site())
        done()
      },
    ],
    preHandler: [],
  }),
  public: () => ({ onRequest: [], preHandler: [] }),
}

/** `entryOf` determines the reviewers that are admitted in addition to the admin key. */
function rightHook(http: HttpDeps, entryOf: typeof reviewerEntry): onRequestAsyncHookHandler {
  return async (request: FastifyRequest) => {
    request.adminRight = await rightOf(request, http, entryOf)
  }
}

const requireAdminKey: preHandlerHookHandler = (request, _, done) => {
  if (request.adminRight?.kind === 'admin') done()
  else done(new GatewayError('not_permitted', 'only the admin key may do this'))
}
