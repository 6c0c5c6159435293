import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ChatAccounts, ChatList, LinkedChat } from '../../contract/chat.ts'
import { go } from '../route/router.ts'
import { announce } from '../shell/announce.tsx'
import { Heading } from '../shell/heading.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { exact } from '../time/countdown.tsx'
import { call, type Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'

/** The linked accounts of the reviewer, and the question before a new link. */
export function ChatsPage({ proposal }: { readonly proposal: string | undefined }) {
  return (
    <>
      <div class="title">
        <Heading>Chats</Heading>
      </div>
      {proposal === undefined ? (
        <Accounts />
      ) : proposal === 'failed' ? (
        <p class="big">
          The chat did not say who you are. <a href="#/chats">Try again</a>
        </p>
      ) : (
        <Question proposal={proposal} />
      )}
    </>
  )
}

function Accounts() {
  const { body, problem, load } = useResource<ChatList>('review/chats')
  const refused = useSignal<Refusal | undefined>(undefined)
  const begin = async (): Promise<void> => {
    const { body: begun, problem: why } = await call<{ url: string }>('POST', 'review/chats/start')
    refused.value = why
    if (begun) location.assign(begun.url)
  }
  const unlink = async ({ workspace, member }: LinkedChat): Promise<void> => {
    const { problem: why } = await call('DELETE', `review/chats/${workspace}/${member}`)
    refused.value = why
    if (!why) announce('Unlinked')
    await load()
  }
  const said = problem ?? refused.value
  return (
    <>
      {said && <ProblemNote problem={said} />}
      <ul class="plain">
        {body?.linked.map((one) => (
          <li key={`${one.workspace}/${one.member}`}>
            Member <span class="mono">{one.member}</span> of <span class="mono">{one.workspace}</span>, until{' '}
            {exact(one.expires_at)} <button onClick={() => void unlink(one)}>Unlink</button>
          </li>
        ))}
      </ul>
      {body?.chat && <button onClick={() => void begin()}>Link an account of {body.chat}</button>}
      {body && !body.chat && <p class="big">No chat is connected to this gateway.</p>}
      <p class="note">A thief of your account of the chat can vote in your name there until you unlink it.</p>
    </>
  )
}

/** Names both accounts, and asks. */
function Question({ proposal }: { readonly proposal: string }) {
  const accounts = useSignal<ChatAccounts | undefined>(undefined)
  const problem = useSignal<Refusal | undefined>(undefined)
  useEffect(() => {
    void call<ChatAccounts>('POST', 'review/chats/look', { body: { proposal } }).then((answer) => {
      accounts.value = answer.body
      problem.value = answer.problem
    })
  }, [proposal])
  const agree = async (): Promise<void> => {
    problem.value = (await call('POST', 'review/chats', { body: { proposal } })).problem
    if (problem.value) return
    announce('Linked')
    go({ page: 'chats' })
  }
  const both = accounts.value
  return (
    <>
      {problem.value && <ProblemNote problem={problem.value} />}
      {both && (
        <>
          <p class="big">
            Shall <AgentText text={both.member_name} /> (<span class="mono">{both.member}</span>) of{' '}
            <AgentText text={both.workspace_name} /> (<span class="mono">{both.workspace}</span>) vote as
            reviewer <strong>{both.reviewer}</strong>?
          </p>
          <button onClick={() => void agree()}>Link these two accounts</button>
        </>
      )}{' '}
      <a href="#/chats">Do not link</a>
    </>
  )
}
