/*
 * The cost of Fastify alone: one POST route with the gateway's body schema and a small JSON answer, without keys,
 * policies or a store.
 */
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'

const document = JSON.parse(readFileSync(new URL('../schemas/openapi.json', import.meta.url), 'utf8'))
const { DecisionRequest, RiskLevel, ActionHash, ToolName } = document.components.schemas
const schema = JSON.parse(
  JSON.stringify(DecisionRequest, (key, value) => {
    if (typeof value?.$ref !== 'string') return value
    return { RiskLevel, ActionHash, ToolName }[value.$ref.split('/').at(-1)] ?? value
  }),
)

const app = Fastify()
app.post('/tasks/:taskID/requests', { schema: { body: schema } }, (request, reply) => {
  reply.send({ status: 'allow', task_id: request.params.taskID, message: 'Small transfers are fine.' })
})
await app.listen({ host: '127.0.0.1', port: 0 })
console.log(JSON.stringify({ listening: `http://127.0.0.1:${app.server.address().port}` }))
