import { computed, defineComponent, h, nextTick, onBeforeUnmount, onMounted, ref, shallowRef } from 'vue'
import { fragmentOf, readFragment } from './link.mjs'
import { openRecipe, recipes } from './recipes.mjs'
import './playground.css'

const FIRST = 'spending-limit'
const TYPING_MS = 150

/** A bundle and a call side by side. A worker of this page evaluates them while one types. */
export const Playground = defineComponent({
  name: 'Playground',
  setup() {
    const recipe = ref('')
    const files = ref([])
    const open = ref('')
    const request = ref('')
    const reply = shallowRef(undefined)
    const said = ref('')
    const editor = ref(null)
    let worker
    let asked = 0
    let timer

    const ask = (text) => {
      asked += 1
      worker.postMessage({ id: asked, files: files.value.map((file) => ({ ...file })), request: text })
    }
    const use = async (state) => {
      recipe.value = state.recipe ?? ''
      files.value = state.files ?? (await openRecipe(state.recipe))
      open.value = files.value[0]?.path ?? ''
      request.value = state.request ?? ''
      ask(state.request)
    }
    const openLink = async () => {
      const state = await readFragment(location.hash)
      const isKnown = state !== undefined && (state.files !== undefined || recipes.includes(state.recipe))
      await use(isKnown ? state : { recipe: FIRST })
    }
    const share = async () => {
      history.replaceState(null, '', await fragmentOf({ files: files.value, request: request.value }))
      said.value = 'The link is in the address bar. It holds the bundle and the call.'
    }
    const goTo = async ({ file, line }) => {
      open.value = file
      await nextTick()
      const lines = editor.value.value.split('\n')
      const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
      editor.value.focus()
      editor.value.setSelectionRange(start, start + (lines[line - 1] ?? '').length)
    }

    onMounted(() => {
      worker = new Worker(new URL('../../../../src/playground/worker.ts', import.meta.url), {
        type: 'module',
      })
      worker.addEventListener('message', ({ data }) => {
        if (data.id !== asked) return
        reply.value = data
        if (request.value === '') request.value = data.request
      })
      addEventListener('hashchange', openLink)
      void openLink()
    })
    onBeforeUnmount(() => {
      clearTimeout(timer)
      worker?.terminate()
      removeEventListener('hashchange', openLink)
    })
    const typed = () => {
      said.value = ''
      clearTimeout(timer)
      timer = setTimeout(() => ask(request.value), TYPING_MS)
    }

    const current = computed(() => files.value.find(({ path }) => path === open.value))
    return () =>
      h('div', { class: 'playground' }, [
        h('p', { class: 'bar' }, [
          h('label', [
            'Recipe ',
            h(
              'select',
              { value: recipe.value, onChange: (event) => (location.hash = `#recipe=${event.target.value}`) },
              recipes.map((name) => h('option', { value: name, key: name }, name)),
            ),
          ]),
          h('button', { type: 'button', onClick: share }, 'Share as a link'),
          h('span', { role: 'status' }, said.value),
        ]),
        h('div', { class: 'sides' }, [
          h('div', [
            h(
              'label',
              { class: 'bar' },
              h(
                'select',
                {
                  'aria-label': 'File',
                  value: open.value,
                  onChange: (event) => (open.value = event.target.value),
                },
                files.value.map(({ path }) => h('option', { value: path, key: path }, path)),
              ),
            ),
            h('textarea', {
              ref: editor,
              'aria-label': 'Text of the file',
              spellcheck: false,
              value: current.value?.text ?? '',
              onInput: (event) => {
                current.value.text = event.target.value
                typed()
              },
            }),
          ]),
          h('div', [
            h('label', { class: 'bar', for: 'playground-request' }, 'Call'),
            h('textarea', {
              id: 'playground-request',
              spellcheck: false,
              value: request.value,
              onInput: (event) => {
                request.value = event.target.value
                typed()
              },
            }),
          ]),
        ]),
        reply.value === undefined ? h('p', 'Loading the evaluator') : result(reply.value, goTo),
      ])
  },
})

function result({ diagnostics, tests = [], decision, problem }, goTo) {
  const failed = tests.filter(({ problems }) => problems.length > 0)
  return h('div', { class: 'result', 'aria-live': 'polite' }, [
    decision === undefined
      ? h('p', { class: 'verdict none' }, `No decision: ${problem}`)
      : h('p', { class: `verdict ${decision.verdict}` }, decision.verdict),
    decision && h('pre', decision.text),
    h('h3', `Findings (${diagnostics.length})`),
    h(
      'ul',
      diagnostics.map((one) =>
        h('li', { class: one.severity }, [
          h(
            'a',
            { href: '', onClick: (event) => (event.preventDefault(), goTo(one)) },
            `${one.file}:${one.line}`,
          ),
          ` ${one.severity} ${one.code}: ${one.message}`,
          one.hint === undefined ? '' : h('small', ` ${one.hint}`),
        ]),
      ),
    ),
    h('h3', `Tests (${tests.length - failed.length} of ${tests.length} passed)`),
    h(
      'ul',
      failed.map(({ name, problems }) => h('li', { class: 'error' }, `${name}: ${problems.join('; ')}`)),
    ),
  ])
}
