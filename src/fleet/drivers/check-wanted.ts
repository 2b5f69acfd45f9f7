import { DecoratorHandler, type Dispatcher } from "#kernel/http.ts";
import { UnwantedError } from "./driver.ts";

/** Checks, once there is a connection and right before the first byte, whether the order is still wanted. */
export function checkWanted(isWanted: () => boolean): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const asking: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
    asking.onRequestStart = (controller, context) => {
      if (isWanted()) handler.onRequestStart?.(controller, context);
      else controller.abort(new UnwantedError("the order is no longer wanted"));
    };
    return dispatch(options, asking);
  };
}
