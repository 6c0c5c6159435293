import { event } from './event.ts'
import { number, oneOf, optional, text } from '../record/field.ts'
import {
  webhookChanged,
  webhookCreated,
  webhookDeleted,
  webhookPinged,
  webhookRedelivered,
  webhookSettled,
} from '../laws/webhooks.ts'

const id = text('the id of the webhook')
const delivery = text('the id of the delivery')

const SETTLED = {
  attempts: number('the number of attempts'),
  delivery,
  event: text('the event of the delivery'),
  result: optional(text('the last answer')),
  thread_id: optional(text('the thread of the event')),
  webhook: id,
}

export const WEBHOOKS = {
  'webhook.created': event({
    of: 'webhook',
    says: 'was created',
    by: ['admin', 'reviewer'],
    logged: {
      format: oneOf(['event', 'chat', 'teams', 'slack-app'], 'the form of its deliveries'),
      id,
      payload: oneOf(['thin', 'full'], 'whether deliveries carry the payload'),
      url: text('its URL; for a chat, only the origin and the end'),
    },
    law: webhookCreated,
  }),
  'webhook.secret_rotated': event({
    of: 'webhook',
    says: 'got a new secret',
    by: ['admin', 'reviewer'],
    logged: { id, overlap_ms: number('the time in which the old secret also signs') },
    law: webhookChanged,
  }),
  'webhook.paused': event({
    of: 'webhook',
    says: 'was paused',
    by: ['admin', 'reviewer', 'gateway:webhooks'],
    logged: {
      id,
      reason: oneOf(['admin', 'failing', 'gone'], 'why'),
      result: optional(text('the last answer')),
    },
    law: webhookChanged,
  }),
  'webhook.resumed': event({
    of: 'webhook',
    says: 'was resumed',
    by: ['admin', 'reviewer'],
    logged: { id },
    law: webhookChanged,
  }),
  'webhook.deleted': event({
    of: 'webhook',
    says: 'was deleted',
    by: ['admin', 'reviewer'],
    logged: { id },
    law: webhookDeleted,
  }),
  'webhook.delivered': event({
    of: 'webhook',
    says: 'accepted a delivery',
    by: ['gateway:webhooks'],
    logged: SETTLED,
    law: webhookSettled,
  }),
  'webhook.given_up': event({
    of: 'webhook',
    says: 'accepted no attempt of a delivery',
    by: ['gateway:webhooks'],
    logged: SETTLED,
    law: webhookSettled,
  }),
  'webhook.redelivered': event({
    of: 'webhook',
    says: 'gets a delivery again',
    by: ['admin', 'reviewer'],
    logged: { delivery, id },
    law: webhookRedelivered,
  }),
  'webhook.pinged': event({
    of: 'webhook',
    says: 'gets a test',
    by: ['admin', 'reviewer'],
    logged: { id },
    law: webhookPinged,
    webhook: 'webhook.ping',
  }),
}
